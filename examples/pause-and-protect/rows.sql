PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id     TEXT PRIMARY KEY,
    active INTEGER NOT NULL DEFAULT 1,
    image  TEXT NOT NULL DEFAULT '5.1.0'
);
INSERT INTO tenants (id) VALUES ('acme'), ('globex');
