PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id     TEXT PRIMARY KEY,
    active INTEGER NOT NULL DEFAULT 1,
    plan   TEXT NOT NULL
);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12)
INSERT INTO tenants (id, plan) SELECT printf('team-%02d', i), 'standard' FROM n;
