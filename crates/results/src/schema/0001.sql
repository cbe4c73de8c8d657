-- First schema. Every table is explained in docs/schema.md.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE host (
    host_id      INTEGER PRIMARY KEY,
    uuid         TEXT NOT NULL,
    name         TEXT NOT NULL,
    cpu          TEXT NOT NULL,
    cores        INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    facts        TEXT NOT NULL,
    UNIQUE (uuid, name, cpu, cores, memory_bytes, facts)
) STRICT;

CREATE TABLE target (
    target_id       INTEGER PRIMARY KEY,
    kind            TEXT NOT NULL,
    dsn_redacted    TEXT NOT NULL,
    server_version  TEXT NOT NULL,
    postgis_version TEXT,
    versions        TEXT NOT NULL
) STRICT;

CREATE TABLE experiment (
    experiment_id  INTEGER PRIMARY KEY,
    uuid           TEXT NOT NULL UNIQUE,
    hash           TEXT NOT NULL,
    name           TEXT NOT NULL,
    question       TEXT NOT NULL,
    file_text      TEXT NOT NULL,
    plan_json      TEXT NOT NULL,
    seed           TEXT NOT NULL,
    order_scheme   TEXT NOT NULL,
    rounds         INTEGER NOT NULL,
    compare_factor TEXT,
    base           TEXT,
    arms           TEXT NOT NULL,
    margin         REAL NOT NULL,
    taste          TEXT,
    created_at     TEXT NOT NULL,
    sessions       INTEGER NOT NULL DEFAULT 0,
    host_id        INTEGER NOT NULL REFERENCES host,
    target_id      INTEGER NOT NULL REFERENCES target
) STRICT;
CREATE INDEX experiment_hash ON experiment (hash);

CREATE TABLE cell (
    cell_id       INTEGER PRIMARY KEY,
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    workload      TEXT NOT NULL,
    factors       TEXT NOT NULL,
    UNIQUE (experiment_id, workload, factors)
) STRICT;

CREATE TABLE cell_factor (
    cell_id INTEGER NOT NULL REFERENCES cell,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (cell_id, name)
) STRICT;

CREATE TABLE settings (
    settings_id INTEGER PRIMARY KEY,
    hash        TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE setting (
    settings_id INTEGER NOT NULL REFERENCES settings,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    source      TEXT NOT NULL,
    PRIMARY KEY (settings_id, name)
) STRICT;

CREATE TABLE run (
    run_id           INTEGER PRIMARY KEY,
    uuid             TEXT NOT NULL UNIQUE,
    experiment_id    INTEGER NOT NULL REFERENCES experiment,
    cell_id          INTEGER NOT NULL REFERENCES cell,
    kind             TEXT NOT NULL,
    arm              TEXT,
    round            INTEGER NOT NULL,
    sequence         INTEGER NOT NULL,
    position_in_pair INTEGER NOT NULL,
    session          INTEGER NOT NULL,
    started_at       TEXT NOT NULL,
    load             TEXT NOT NULL,
    offered_rate     REAL,
    clients          INTEGER NOT NULL,
    threads          INTEGER NOT NULL,
    driver           TEXT NOT NULL,
    seed             TEXT NOT NULL,
    warmup_s         REAL NOT NULL,
    measured_s       REAL NOT NULL,
    validity         TEXT NOT NULL,
    settings_id      INTEGER REFERENCES settings,
    tps              REAL,
    p50_us           REAL,
    p95_us           REAL,
    p99_us           REAL,
    p999_us          REAL,
    max_us           REAL
) STRICT;
CREATE INDEX run_experiment ON run (experiment_id, sequence);

CREATE TABLE run_doubt (
    run_id   INTEGER NOT NULL REFERENCES run,
    position INTEGER NOT NULL,
    reason   TEXT NOT NULL,
    detail   TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

CREATE TABLE run_count (
    run_id INTEGER NOT NULL REFERENCES run,
    name   TEXT NOT NULL,
    value  INTEGER NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;

CREATE TABLE run_figure (
    run_id INTEGER NOT NULL REFERENCES run,
    name   TEXT NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;

CREATE TABLE script (
    script_id INTEGER PRIMARY KEY,
    run_id    INTEGER NOT NULL REFERENCES run,
    position  INTEGER NOT NULL,
    name      TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    weight    INTEGER NOT NULL,
    counts    TEXT NOT NULL,
    UNIQUE (run_id, position)
) STRICT;

CREATE TABLE hist (
    script_id   INTEGER NOT NULL REFERENCES script,
    kind        TEXT NOT NULL,
    start_us    INTEGER NOT NULL,
    length_us   INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    sum_ns      TEXT NOT NULL,
    sum_squares REAL NOT NULL,
    min_ns      INTEGER,
    max_ns      INTEGER,
    v2          BLOB NOT NULL,
    PRIMARY KEY (script_id, kind, start_us)
) STRICT;

CREATE TABLE series (
    script_id INTEGER NOT NULL REFERENCES script,
    start_us  INTEGER NOT NULL,
    length_us INTEGER NOT NULL,
    ok        INTEGER NOT NULL,
    late      INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    skipped   INTEGER NOT NULL,
    PRIMARY KEY (script_id, start_us)
) STRICT;

CREATE TABLE phase (
    run_id      INTEGER NOT NULL REFERENCES run,
    position    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    item        TEXT NOT NULL,
    start_us    INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    count       INTEGER,
    source      TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

CREATE TABLE relation (
    run_id     INTEGER NOT NULL REFERENCES run,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    table_name TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    rows       INTEGER NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

CREATE TABLE artifact (
    run_id     INTEGER NOT NULL REFERENCES run,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    caption    TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

CREATE TABLE event (
    run_id   INTEGER NOT NULL REFERENCES run,
    position INTEGER NOT NULL,
    time_us  INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    detail   TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

CREATE VIEW v_experiment AS
SELECT e.experiment_id, e.name, e.question, e.order_scheme, e.rounds, e.compare_factor, e.base, e.margin, e.created_at, e.sessions,
       (SELECT count(*) FROM run r WHERE r.experiment_id = e.experiment_id) AS runs,
       t.server_version, t.postgis_version, h.name AS host
FROM experiment e JOIN target t USING (target_id) JOIN host h USING (host_id);

CREATE VIEW v_run AS
SELECT r.run_id, r.experiment_id, e.name AS experiment, r.kind, c.workload, r.arm, r.round, r.sequence, r.position_in_pair,
       r.session, c.factors, r.clients, r.threads, r.load, r.offered_rate, r.driver, r.started_at, r.warmup_s, r.measured_s,
       r.tps, r.p50_us, r.p95_us, r.p99_us, r.p999_us, r.max_us,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'due') AS due,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'ok') AS ok,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'late') AS late,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'failed') AS failed,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'skipped') AS skipped,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'unfinished') AS unfinished,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'rows') AS rows,
       (SELECT value FROM run_count n WHERE n.run_id = r.run_id AND n.name = 'bytes') AS bytes,
       r.validity,
       (SELECT group_concat(d.reason || ': ' || d.detail, '; ') FROM run_doubt d WHERE d.run_id = r.run_id) AS doubts,
       r.seed
FROM run r JOIN cell c USING (cell_id) JOIN experiment e ON e.experiment_id = r.experiment_id;

CREATE VIEW v_cell AS
SELECT r.experiment_id, e.name AS experiment, c.workload, c.factors, r.arm, count(*) AS runs,
       avg(r.tps) AS tps_mean, max(r.tps) AS tps_max, min(r.tps) AS tps_min,
       avg(r.p50_us) AS p50_us_mean, avg(r.p95_us) AS p95_us_mean, avg(r.p99_us) AS p99_us_mean
FROM run r JOIN cell c USING (cell_id) JOIN experiment e ON e.experiment_id = r.experiment_id
WHERE r.kind = 'client' AND r.validity <> 'invalid'
GROUP BY r.experiment_id, e.name, c.workload, c.factors, r.arm;

CREATE VIEW v_script AS
SELECT s.script_id, s.run_id, s.position, s.name AS script, s.weight,
       json_extract(s.counts, '$.ok') AS ok, json_extract(s.counts, '$.late') AS late,
       json_extract(s.counts, '$.failed') AS failed, json_extract(s.counts, '$.skipped') AS skipped,
       h.count AS measured, h.sum_ns / 1000.0 / h.count AS mean_us, h.min_ns / 1000.0 AS min_us, h.max_ns / 1000.0 AS max_us
FROM script s LEFT JOIN hist h ON h.script_id = s.script_id AND h.kind = 'response' AND h.start_us = -1;

CREATE VIEW v_run_setting AS
SELECT r.run_id, s.name, s.value, s.source FROM run r JOIN setting s USING (settings_id);
