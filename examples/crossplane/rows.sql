PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id     TEXT PRIMARY KEY,
    active INTEGER NOT NULL DEFAULT 1,
    size   TEXT NOT NULL DEFAULT 'small',
    region TEXT NOT NULL
);
INSERT INTO tenants (id, size, region) VALUES
    ('acme', 'medium', 'eu-central-1'),
    ('globex', 'small', 'us-east-1');
