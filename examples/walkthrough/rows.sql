PRAGMA journal_mode = WAL;

CREATE TABLE tenants (name TEXT PRIMARY KEY, image TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1);
INSERT INTO tenants (name, image) VALUES ('acme', 'shop'), ('beta', 'nonexistent'), ('Gamma', 'shop');
