PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id    TEXT PRIMARY KEY,
  active       INTEGER NOT NULL DEFAULT 1,
  version      TEXT NOT NULL DEFAULT '2.41.0',
  min_replicas INTEGER NOT NULL DEFAULT 1,
  max_replicas INTEGER NOT NULL DEFAULT 3
);
INSERT INTO tenants (tenant_id, min_replicas, max_replicas) VALUES
  ('acme', 2, 10),
  ('globex', 1, 3);
