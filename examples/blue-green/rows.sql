PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id     TEXT PRIMARY KEY,
  active        INTEGER NOT NULL DEFAULT 1,
  live_color    TEXT NOT NULL DEFAULT 'blue' CHECK (live_color IN ('blue', 'green')),
  blue_version  TEXT NOT NULL DEFAULT '1.0.0',
  green_version TEXT NOT NULL DEFAULT '1.0.0'
);
INSERT INTO tenants (tenant_id) VALUES ('acme'), ('globex');
