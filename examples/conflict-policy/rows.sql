PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  active    INTEGER NOT NULL DEFAULT 1,
  locale    TEXT NOT NULL DEFAULT 'en',
  seats     INTEGER NOT NULL DEFAULT 5
);
INSERT INTO tenants (tenant_id, locale, seats) VALUES
  ('acme', 'en', 20),
  ('globex', 'fr', 5);
