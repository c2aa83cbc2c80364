PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  active    INTEGER NOT NULL DEFAULT 1,
  plan      TEXT NOT NULL DEFAULT 'team',
  regions   TEXT NOT NULL DEFAULT 'eu-west-1'
);
INSERT INTO tenants (tenant_id, plan, regions) VALUES
  ('acme', 'team', 'eu-west-1'),
  ('globex', 'enterprise', 'eu-west-1 us-east-1');
