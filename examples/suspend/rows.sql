PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id           TEXT PRIMARY KEY,
    active       INTEGER NOT NULL DEFAULT 1,
    -- Written by the billing system: active, past_due or suspended.
    subscription TEXT NOT NULL DEFAULT 'active'
);
INSERT INTO tenants (id, subscription) VALUES
    ('acme', 'active'),
    ('globex', 'past_due');
