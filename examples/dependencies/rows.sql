PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  active    INTEGER NOT NULL DEFAULT 1,
  version   TEXT NOT NULL DEFAULT '2.41.0',
  db_image  TEXT NOT NULL DEFAULT 'postgres:17.4'
);
INSERT INTO tenants (tenant_id) VALUES ('acme');
