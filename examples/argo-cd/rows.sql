PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id            TEXT PRIMARY KEY,
    active        INTEGER NOT NULL DEFAULT 1,
    chart_version TEXT NOT NULL DEFAULT '7.3.0',
    domain        TEXT NOT NULL
);
INSERT INTO tenants (id, domain) VALUES
    ('acme', 'wiki.acme.example'),
    ('globex', 'docs.globex.example');
