PRAGMA journal_mode = WAL;

CREATE TABLE tenants (
    id            TEXT PRIMARY KEY,
    active        INTEGER NOT NULL DEFAULT 1,
    chart_version TEXT NOT NULL DEFAULT '2.9.x',
    replicas      INTEGER NOT NULL DEFAULT 2
);
INSERT INTO tenants (id, replicas) VALUES ('acme', 3), ('globex', 2);
