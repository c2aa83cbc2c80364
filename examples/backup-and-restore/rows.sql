PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id     TEXT PRIMARY KEY,
    active INTEGER NOT NULL DEFAULT 1,
    plan   TEXT NOT NULL
);
INSERT INTO tenants (id, plan) VALUES ('acme', 'team'), ('globex', 'free');
