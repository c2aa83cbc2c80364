CREATE VIEW lynq_tenants AS
SELECT slug,
       status = 'active' AS active,
       plan,
       CASE plan WHEN 'pro' THEN 2 ELSE 1 END AS replicas,
       version
FROM customers;
