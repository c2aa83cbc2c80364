PRAGMA journal_mode = WAL;

CREATE TABLE sandboxes (
  name       TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  days       INTEGER NOT NULL DEFAULT 7
);
-- The row stays after the end of its time; only is_live changes.
CREATE VIEW current_sandboxes AS
  SELECT name, owner,
         datetime(created_at, '+' || days || ' days') AS expires_at,
         datetime(created_at, '+' || days || ' days') > CURRENT_TIMESTAMP AS is_live
  FROM sandboxes;
INSERT INTO sandboxes (name, owner) VALUES ('trial-acme', 'sales'), ('demo-fair', 'marketing');
INSERT INTO sandboxes (name, owner, created_at) VALUES ('trial-initech', 'sales', datetime('now', '-30 days'));
