PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  active    INTEGER NOT NULL DEFAULT 1,
  team      TEXT NOT NULL,
  seats     INTEGER NOT NULL DEFAULT 10
);
INSERT INTO tenants (tenant_id, team, seats) VALUES
  ('acme', 'payments', 50),
  ('globex', 'logistics', 10);
