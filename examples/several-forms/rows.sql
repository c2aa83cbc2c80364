PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  active    INTEGER NOT NULL DEFAULT 1,
  version   TEXT NOT NULL DEFAULT '3.2.0',
  plan      TEXT NOT NULL DEFAULT 'team'
);
CREATE VIEW enterprise_tenants AS
  SELECT tenant_id, active FROM tenants WHERE plan = 'enterprise';
INSERT INTO tenants (tenant_id, plan) VALUES ('acme', 'enterprise'), ('globex', 'team');
