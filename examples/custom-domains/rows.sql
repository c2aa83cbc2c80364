PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
  tenant_id     TEXT PRIMARY KEY,
  active        INTEGER NOT NULL DEFAULT 1,
  custom_domain TEXT                        -- NULL: only the subdomain of the product
);
INSERT INTO tenants (tenant_id, custom_domain) VALUES
  ('acme', 'shop.acme.com'),
  ('globex', NULL);
