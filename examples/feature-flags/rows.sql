PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id      TEXT PRIMARY KEY,
  active         INTEGER NOT NULL DEFAULT 1,
  has_search     INTEGER NOT NULL DEFAULT 0,
  theme          TEXT NOT NULL DEFAULT 'classic',
  api_rate_limit INTEGER NOT NULL DEFAULT 100
);
INSERT INTO tenants (tenant_id, has_search, theme, api_rate_limit) VALUES
  ('acme', 1, 'next', 5000),
  ('globex', 0, 'classic', 100);
