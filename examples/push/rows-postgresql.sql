CREATE SCHEMA saas;
CREATE TABLE saas.tenants (
    id     text PRIMARY KEY,
    active boolean NOT NULL DEFAULT true,
    plan   text NOT NULL
);
INSERT INTO saas.tenants (id, plan) VALUES ('initech', 'team'), ('umbrella', 'free');

-- lynq source sql-grants --engine postgresql --table saas.tenants --push
CREATE USER lynq PASSWORD 'lynq-password';
GRANT USAGE ON SCHEMA saas TO lynq;
GRANT SELECT ON saas.tenants TO lynq;
