CREATE DATABASE saas;
CREATE TABLE saas.tenants (
    id     VARCHAR(63) PRIMARY KEY,
    active BOOLEAN NOT NULL DEFAULT TRUE,
    plan   VARCHAR(20) NOT NULL
);
INSERT INTO saas.tenants (id, plan) VALUES ('acme', 'team'), ('globex', 'free');

-- lynq source sql-grants --engine mysql --table saas.tenants --push
CREATE USER 'lynq'@'%' IDENTIFIED BY 'lynq-password';
GRANT SELECT ON saas.tenants TO 'lynq'@'%';
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'lynq'@'%';
