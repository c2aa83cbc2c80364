PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id       TEXT PRIMARY KEY,
  active          INTEGER NOT NULL DEFAULT 1,
  owner_group     TEXT NOT NULL,            -- a group of the identity provider
  cpu_limit       INTEGER NOT NULL DEFAULT 4,
  memory_limit_gi INTEGER NOT NULL DEFAULT 8
);
INSERT INTO tenants (tenant_id, owner_group, cpu_limit, memory_limit_gi) VALUES
  ('acme', 'acme-admins', 16, 64),
  ('globex', 'globex-admins', 4, 8);
