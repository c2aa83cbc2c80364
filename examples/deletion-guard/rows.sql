PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id     TEXT PRIMARY KEY,
    active INTEGER NOT NULL DEFAULT 1,
    region TEXT NOT NULL
);
-- 30 tenants: shop-01 to shop-20 in eu, shop-21 to shop-30 in us.
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO tenants (id, region)
SELECT printf('shop-%02d', i), CASE WHEN i <= 20 THEN 'eu' ELSE 'us' END FROM n;
