#!/bin/sh
# Called by CI when a branch is pushed: ci-upsert.sh DATABASE BRANCH SHA
set -eu
slug=$(printf %s "$2" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9' '-' | cut -c1-40 | sed 's/^-*//; s/-*$//')
sqlite3 -cmd '.timeout 5000' "$1" "INSERT INTO previews (slug, branch, commit_sha) VALUES ('$slug', '$(printf %s "$2" | sed "s/'/''/g")', '$3')
  ON CONFLICT (slug) DO UPDATE SET commit_sha = excluded.commit_sha, is_open = 1"
echo "$slug"
