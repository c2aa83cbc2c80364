PRAGMA journal_mode = WAL;

CREATE TABLE plans (
    name           TEXT PRIMARY KEY,
    web_replicas   INTEGER NOT NULL,
    worker_replicas INTEGER NOT NULL,
    cpu            TEXT NOT NULL,
    memory         TEXT NOT NULL
);
INSERT INTO plans VALUES
    ('free',       1, 0, '50m',  '128Mi'),
    ('team',       2, 1, '250m', '256Mi'),
    ('enterprise', 3, 2, '500m', '512Mi');

CREATE TABLE tenants (
    id     TEXT PRIMARY KEY,
    active INTEGER NOT NULL DEFAULT 1,
    plan   TEXT NOT NULL REFERENCES plans (name)
);
INSERT INTO tenants (id, plan) VALUES
    ('acme', 'free'),
    ('globex', 'team');

-- The hub reads this view: one row per tenant, with the sizes of its plan.
CREATE VIEW tenant_sizes AS
SELECT t.id, t.active, t.plan, p.web_replicas, p.worker_replicas, p.cpu, p.memory
FROM tenants AS t JOIN plans AS p ON p.name = t.plan;
