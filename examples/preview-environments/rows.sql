PRAGMA journal_mode = WAL;

CREATE TABLE previews (
  slug       TEXT PRIMARY KEY,              -- the branch as a DNS label; CI computes it
  branch     TEXT NOT NULL,
  commit_sha TEXT NOT NULL,
  is_open    INTEGER NOT NULL DEFAULT 1
);
