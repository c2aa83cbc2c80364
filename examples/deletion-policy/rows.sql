PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  active    INTEGER NOT NULL DEFAULT 1,
  plan      TEXT NOT NULL
);
INSERT INTO tenants (tenant_id, plan) VALUES
  ('acme', 'team'),
  ('globex', 'enterprise');
