CREATE TABLE customers (
  id            INTEGER PRIMARY KEY,
  slug          VARCHAR(40) NOT NULL UNIQUE,
  company       VARCHAR(200) NOT NULL,
  billing_email VARCHAR(200) NOT NULL,
  plan          VARCHAR(20) NOT NULL,
  status        VARCHAR(20) NOT NULL,
  version       VARCHAR(20) NOT NULL
);
INSERT INTO customers VALUES
  (1, 'acme',  'Acme Inc.',   'billing@acme.example',  'pro',  'active',   '1.27'),
  (2, 'beta',  'Beta GmbH',   'rechnung@beta.example', 'free', 'active',   '1.27'),
  (3, 'gamma', 'Gamma S.A.',  'admin@gamma.example',   'free', 'canceled', '1.27');
