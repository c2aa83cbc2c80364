PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  active    INTEGER NOT NULL DEFAULT 1,
  plan      TEXT NOT NULL DEFAULT 'team'
);
INSERT INTO tenants (tenant_id, plan) VALUES
  ('acme', 'enterprise'), ('globex', 'team'), ('hooli', 'team'),
  ('initech', 'team'), ('umbrella', 'team'), ('wonka', 'team');
