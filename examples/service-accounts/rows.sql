PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id       TEXT PRIMARY KEY,
    active   INTEGER NOT NULL DEFAULT 1,
    currency TEXT NOT NULL
);
INSERT INTO tenants (id, currency) VALUES ('acme', 'EUR'), ('globex', 'USD');
