PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id  TEXT PRIMARY KEY,
  active     INTEGER NOT NULL DEFAULT 1,
  storage_gb INTEGER NOT NULL DEFAULT 10
);
INSERT INTO tenants (tenant_id, storage_gb) VALUES
  ('acme', 10),
  ('globex', 50);
