PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id        TEXT PRIMARY KEY,
    active    INTEGER NOT NULL DEFAULT 1,
    subdomain TEXT NOT NULL UNIQUE,
    ttl       INTEGER NOT NULL DEFAULT 300
);
INSERT INTO tenants (id, subdomain) VALUES ('t-1001', 'acme'), ('t-1002', 'globex');
