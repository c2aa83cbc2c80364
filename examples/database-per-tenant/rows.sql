PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id     TEXT PRIMARY KEY,
  active        INTEGER NOT NULL DEFAULT 1,
  db_instances  INTEGER NOT NULL DEFAULT 1,
  db_storage_gi INTEGER NOT NULL DEFAULT 10
);
INSERT INTO tenants (tenant_id, db_instances, db_storage_gi) VALUES ('acme', 3, 100);
