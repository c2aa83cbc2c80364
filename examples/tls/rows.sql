CREATE TABLE public.tenants (
    id     text PRIMARY KEY,
    active boolean NOT NULL DEFAULT true,
    plan   text NOT NULL
);
INSERT INTO tenants (id, plan) VALUES ('acme', 'team'), ('globex', 'free');
CREATE USER lynq PASSWORD 'lynq-password';
GRANT SELECT ON tenants TO lynq;
