PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id          TEXT PRIMARY KEY,
    active      INTEGER NOT NULL DEFAULT 1,
    queue       TEXT NOT NULL,
    max_workers INTEGER NOT NULL DEFAULT 5
);
INSERT INTO tenants (id, queue, max_workers) VALUES
    ('acme', 'imports-acme', 20),
    ('globex', 'imports-globex', 5);
