PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id         TEXT PRIMARY KEY,
    active     INTEGER NOT NULL DEFAULT 1,
    -- Where the tenant's credentials are; never the credentials themselves.
    vault_path TEXT NOT NULL
);
INSERT INTO tenants (id, vault_path) VALUES
    ('acme', 'tenants/eu/acme'),
    ('globex', 'tenants/us/globex');
