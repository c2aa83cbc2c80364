PRAGMA journal_mode = WAL;

CREATE TABLE tenants (name TEXT PRIMARY KEY, greeting TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1);
INSERT INTO tenants (name, greeting) VALUES ('acme', 'Hello'), ('beta', 'Bonjour');
