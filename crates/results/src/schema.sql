-- The comments before tables and views, and those before columns, are docs/reference/results-file.md.
-- A file is refused if the text of a statement differs: comments within statements stay as they are.

-- Facts about the file: `file_uuid`, `created_by`.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- A machine and its state. `uuid` is a hash of its machine id; `facts` is JSON.
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

-- The servers of an experiment, without passwords.
CREATE TABLE target (
    target_id       INTEGER PRIMARY KEY,
    kind            TEXT NOT NULL,
    dsn_redacted    TEXT NOT NULL,
    server_version  TEXT NOT NULL,
    postgis_version TEXT,
    versions        TEXT NOT NULL
) STRICT;

-- How the PostgreSQL of a target was built: `version()` and `pg_config` (for superusers only). `tree` is a SHA-256
-- over its files, `commit_id` the commit of the source tree around it.
CREATE TABLE target_build (
    target_id  INTEGER PRIMARY KEY REFERENCES target,
    version    TEXT NOT NULL,
    assertions INTEGER NOT NULL,
    configure  TEXT,
    cc         TEXT,
    cflags     TEXT,
    tree       TEXT,
    commit_id  TEXT
) STRICT;

-- An experiment that was started. `hash` is of the expanded plan, without rounds and credentials: the same plan
-- continues in the same row. `plan_json` and `file_text` have no passwords.
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
    invocations    INTEGER NOT NULL DEFAULT 0,
    host_id        INTEGER NOT NULL REFERENCES host,
    target_id      INTEGER NOT NULL REFERENCES target,
    -- What measures it, without passwords.
    command        TEXT,
    -- How often more rounds were asked for.
    extended       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX experiment_hash ON experiment (hash);

-- A part of a divided experiment that is in this file.
CREATE TABLE experiment_part (
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    part          INTEGER NOT NULL,
    parts         INTEGER NOT NULL,
    -- Whether each run is divided among the parts, 1, or the cells are, 0.
    shared        INTEGER NOT NULL,
    host_id       INTEGER NOT NULL REFERENCES host,
    -- Of the experiment in the file of this part.
    uuid          TEXT NOT NULL,
    PRIMARY KEY (experiment_id, parts, part)
) STRICT, WITHOUT ROWID;

-- A text of a script, query or SQL file, once for each `sha256`. Texts above 1 MiB or not in UTF-8 have no `text`.
CREATE TABLE text (
    text_id  INTEGER PRIMARY KEY,
    sha256   TEXT NOT NULL UNIQUE,
    bytes    INTEGER NOT NULL,
    -- Without secrets; nothing where it is too long to be kept, or no text.
    text     TEXT,
    -- Lines on which something was replaced, JSON.
    replaced TEXT NOT NULL
) STRICT;

-- A text that an experiment used. `used_by`: `workload NAME`, `prepare.sql`, `prepare.osm.style` or `bench`;
-- `kind`: `file`, `builtin` or `query`.
CREATE TABLE experiment_text (
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    used_by       TEXT NOT NULL,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    text_id       INTEGER NOT NULL REFERENCES text,
    PRIMARY KEY (experiment_id, used_by, name)
) STRICT;

-- What was learnt about an experiment, in order, as JSON: the host, hashes of files, sizes, lengths of
-- transactions. The plan follows from the file and these rows. Rows are only added.
CREATE TABLE fact (
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    number        INTEGER NOT NULL,
    stored_at     TEXT NOT NULL,
    fact          TEXT NOT NULL,
    PRIMARY KEY (experiment_id, number)
) STRICT, WITHOUT ROWID;

-- A number of stored runs with which the verdict was shown.
CREATE TABLE look (
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    runs          INTEGER NOT NULL,
    looked_at     TEXT NOT NULL,
    PRIMARY KEY (experiment_id, runs)
) STRICT, WITHOUT ROWID;

-- What a gate found about a commit. Gates of one `name` are one history. `log_ratio` is ln(new / base) over all
-- cells, `low` and `high` its 95 % interval, `metric` what was compared (JSON).
CREATE TABLE gate (
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    commit_id     TEXT NOT NULL,
    name          TEXT NOT NULL,
    arm           TEXT NOT NULL,
    base          TEXT NOT NULL,
    subject       TEXT,
    base_commit   TEXT,
    judged_at     TEXT NOT NULL,
    metric        TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    log_ratio     REAL,
    low           REAL,
    high          REAL,
    PRIMARY KEY (experiment_id, commit_id)
) STRICT, WITHOUT ROWID;

-- A combination of the factors that are not compared; `factors` is JSON.
CREATE TABLE cell (
    cell_id       INTEGER PRIMARY KEY,
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    workload      TEXT NOT NULL,
    factors       TEXT NOT NULL,
    UNIQUE (experiment_id, workload, factors)
) STRICT;

-- A factor of a cell with its level, for selecting.
CREATE TABLE cell_factor (
    cell_id INTEGER NOT NULL REFERENCES cell,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (cell_id, name)
) STRICT;

-- A distinct set of settings; `hash` is over names, values and sources.
CREATE TABLE settings (
    settings_id INTEGER PRIMARY KEY,
    hash        TEXT NOT NULL UNIQUE
) STRICT;

-- A setting of a set, as `SHOW` prints it.
CREATE TABLE setting (
    settings_id INTEGER NOT NULL REFERENCES settings,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    source      TEXT NOT NULL,
    PRIMARY KEY (settings_id, name)
) STRICT;

-- Whether the value of a setting is that of a server made by a plain `initdb` of its version.
CREATE TABLE initial_setting (
    settings_id INTEGER NOT NULL REFERENCES settings,
    name        TEXT NOT NULL,
    is_initial  INTEGER NOT NULL,
    PRIMARY KEY (settings_id, name)
) STRICT;

-- A run or a job. `kind` is `client` or `job`; `beside` is 1 outside the grid; `invocation` counts the invocations
-- of pgdyno, from 1. `tps` and percentiles are for convenience: the histograms in `hist` are what was measured.
CREATE TABLE run (
    run_id           INTEGER PRIMARY KEY,
    uuid             TEXT NOT NULL UNIQUE,
    experiment_id    INTEGER NOT NULL REFERENCES experiment,
    cell_id          INTEGER NOT NULL REFERENCES cell,
    kind             TEXT NOT NULL,
    arm              TEXT,
    beside           INTEGER NOT NULL,
    round            INTEGER NOT NULL,
    sequence         INTEGER NOT NULL,
    position_in_pair INTEGER NOT NULL,
    invocation       INTEGER NOT NULL,
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
    -- Why it is to be measured again; NULL where it counts.
    set_aside        TEXT,
    settings_id      INTEGER REFERENCES settings,
    tps              REAL,
    p50_us           REAL,
    p95_us           REAL,
    p99_us           REAL,
    p999_us          REAL,
    max_us           REAL
) STRICT;
CREATE INDEX run_experiment ON run (experiment_id, sequence);

-- A share of a divided load that is in a run; none if one generator made the whole load. `load` is the same for
-- all shares of a run; `late_us` is the time from the release of the shares to the start of this one.
CREATE TABLE run_part (
    run_id          INTEGER NOT NULL REFERENCES run,
    part            INTEGER NOT NULL,
    parts           INTEGER NOT NULL,
    load            TEXT NOT NULL,
    -- The clock of its host minus that of the server, and a bound of the error of this.
    clock_offset_us REAL NOT NULL,
    clock_error_us  REAL NOT NULL,
    late_us         REAL NOT NULL,
    -- Of the run in the file of this part.
    uuid            TEXT NOT NULL,
    validity        TEXT NOT NULL,
    PRIMARY KEY (run_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_part_load ON run_part (load);

-- The host of a run, if it is not that of its experiment.
CREATE TABLE run_host (
    run_id  INTEGER PRIMARY KEY REFERENCES run,
    host_id INTEGER NOT NULL REFERENCES host
) STRICT;

-- A reason why a run is suspect or invalid.
CREATE TABLE run_doubt (
    run_id   INTEGER NOT NULL REFERENCES run,
    position INTEGER NOT NULL,
    reason   TEXT NOT NULL,
    detail   TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

-- A counter of a run ([all of them](figures.md)).
CREATE TABLE run_count (
    run_id INTEGER NOT NULL REFERENCES run,
    name   TEXT NOT NULL,
    value  INTEGER NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;

-- A figure of a run ([all of them](figures.md)); its unit is the end of its name.
CREATE TABLE run_figure (
    run_id INTEGER NOT NULL REFERENCES run,
    name   TEXT NOT NULL,
    value  REAL NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT;

-- The SHA-256 of a file that an imported run was read from.
CREATE TABLE import_source (
    run_id INTEGER NOT NULL REFERENCES run,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (sha256, run_id)
) STRICT, WITHOUT ROWID;

-- A script of a run, with its counters (JSON). Of tiles: `layer` (several joined by ` + `) and `zoom`.
CREATE TABLE script (
    script_id INTEGER PRIMARY KEY,
    run_id    INTEGER NOT NULL REFERENCES run,
    position  INTEGER NOT NULL,
    name      TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    weight    INTEGER NOT NULL,
    counts    TEXT NOT NULL,
    layer     TEXT,
    zoom      INTEGER,
    -- Whether a cache in front gave its answers, 0 or 1; NULL where there is none.
    cached    INTEGER,
    UNIQUE (run_id, position)
) STRICT;

-- A histogram. `kind`: `response` or `service` of the whole run (`start_us` = -1), `second` (response times of one
-- step of the series), `session` or `session_response` (of users). `v2` is HdrHistogram's compressed V2 encoding
-- in ns, bounds 64 ns to 1 h, 3 digits; the other columns are exact.
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

-- Counters of a script in one second; in long runs a step of several seconds.
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

-- A slice of a run whose arm took turns. `quad` is its group, `start_us` counts from the first slice of any arm,
-- `at_work_us` is the sum over clients. With `is_void` = 1 its quad does not count.
CREATE TABLE slice (
    run_id     INTEGER NOT NULL REFERENCES run,
    position   INTEGER NOT NULL,
    quad       INTEGER NOT NULL,
    start_us   INTEGER NOT NULL,
    length_us  INTEGER NOT NULL,
    drain_us   INTEGER NOT NULL,
    succeeded  INTEGER NOT NULL,
    at_work_us REAL NOT NULL,
    steal_pct  REAL,
    is_void    INTEGER NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

-- CPU time of all processes of an arm's server in a slice, where it could be read.
CREATE TABLE slice_cpu (
    run_id        INTEGER NOT NULL,
    position      INTEGER NOT NULL,
    server_cpu_us REAL NOT NULL,
    PRIMARY KEY (run_id, position),
    FOREIGN KEY (run_id, position) REFERENCES slice
) STRICT, WITHOUT ROWID;

-- A phase of a job, such as the import of ways. `source` says who timed it.
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

-- Size of a table or index after a load, or in a run with levels of `[change]`; tables without their indexes.
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

-- A file kept with a run: sample tiles, plans, logs.
CREATE TABLE artifact (
    run_id     INTEGER NOT NULL REFERENCES run,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    caption    TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

-- Something that happened in a run: restarts, checkpoints, aborts, versions of programs, remarks.
CREATE TABLE event (
    run_id   INTEGER NOT NULL REFERENCES run,
    position INTEGER NOT NULL,
    time_us  INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    detail   TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

-- A figure that was watched during a run. `scope` says what it is about: the run, its arm, or the whole round;
-- `source` is the collector.
CREATE TABLE sample (
    run_id  INTEGER NOT NULL REFERENCES run,
    scope   TEXT NOT NULL,
    source  TEXT NOT NULL,
    name    TEXT NOT NULL,
    time_us INTEGER NOT NULL,
    value   REAL NOT NULL
) STRICT;
CREATE INDEX sample_run ON sample (run_id, name, time_us);

-- An explained statement of the sample of transactions. `execution_ms` has clocks at the nodes, `untimed_ms` has
-- not. `jit_ms` is within nodes; `evened_ms` is what rounding made negative, `functions_evened_ms` the time of
-- functions beyond that of their nodes.
CREATE TABLE statement_plan (
    run_id              INTEGER NOT NULL REFERENCES run,
    position            INTEGER NOT NULL,
    script              TEXT NOT NULL,
    line                INTEGER NOT NULL,
    -- Which transaction of the sample, from 0.
    draw                INTEGER NOT NULL,
    planning_ms         REAL NOT NULL,
    execution_ms        REAL NOT NULL,
    untimed_ms          REAL,
    serialization_ms    REAL,
    triggers_ms         REAL NOT NULL,
    jit_ms              REAL NOT NULL,
    evened_ms           REAL NOT NULL,
    functions_evened_ms REAL NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

-- A node of such a plan. `own_ms`, blocks and `io_ms` exclude the nodes below; `loops` = 0 is a node that was
-- never executed.
CREATE TABLE plan_node (
    run_id         INTEGER NOT NULL,
    position       INTEGER NOT NULL,
    node           INTEGER NOT NULL,
    depth          INTEGER NOT NULL,
    role           TEXT NOT NULL,
    node_type      TEXT NOT NULL,
    relation       TEXT NOT NULL,
    index_name     TEXT NOT NULL,
    part           TEXT NOT NULL,
    own_ms         REAL NOT NULL,
    rows           REAL NOT NULL,
    loops          REAL NOT NULL,
    hit_blocks     INTEGER NOT NULL,
    read_blocks    INTEGER NOT NULL,
    dirtied_blocks INTEGER NOT NULL,
    io_ms          REAL,
    -- JSON
    functions      TEXT NOT NULL,
    -- Of own_ms, booked with functions.
    functions_ms   REAL NOT NULL,
    PRIMARY KEY (run_id, position, node),
    FOREIGN KEY (run_id, position) REFERENCES statement_plan
) STRICT;

-- A function that an explained statement called, overloads added. `booked_ms` of its `self_ms` counts under `part`
-- in `v_plan_part`.
CREATE TABLE statement_function (
    run_id    INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    function  INTEGER NOT NULL,
    name      TEXT NOT NULL,
    calls     INTEGER NOT NULL,
    self_ms   REAL NOT NULL,
    part      TEXT NOT NULL,
    booked_ms REAL NOT NULL,
    PRIMARY KEY (run_id, position, function),
    FOREIGN KEY (run_id, position) REFERENCES statement_plan
) STRICT;

-- A tile that was requested in the measured part of a run: mean and longest time, mean length.
CREATE TABLE tile (
    run_id   INTEGER NOT NULL REFERENCES run,
    -- Position of its script.
    script   INTEGER NOT NULL,
    z        INTEGER NOT NULL,
    x        INTEGER NOT NULL,
    y        INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    mean_us  REAL NOT NULL,
    max_us   REAL NOT NULL,
    bytes    REAL NOT NULL,
    PRIMARY KEY (run_id, script, z, x, y)
) STRICT, WITHOUT ROWID;

-- What a sample of the tiles of a script holds; the same tiles in all arms. Sums: empty tiles, rows in, features
-- out, vertices, bytes unpacked.
CREATE TABLE tile_sample (
    run_id       INTEGER NOT NULL REFERENCES run,
    script       INTEGER NOT NULL,
    tiles        INTEGER NOT NULL,
    empty        INTEGER NOT NULL,
    features_in  INTEGER,
    features_out INTEGER,
    vertices     INTEGER,
    bytes        INTEGER NOT NULL,
    PRIMARY KEY (run_id, script)
) STRICT, WITHOUT ROWID;

-- Times of the tiles of a script that were requested once each before the measured part, and the slowest of them.
CREATE TABLE tile_probe (
    run_id  INTEGER NOT NULL REFERENCES run,
    script  INTEGER NOT NULL,
    tiles   INTEGER NOT NULL,
    mean_us REAL NOT NULL,
    z       INTEGER NOT NULL,
    x       INTEGER NOT NULL,
    y       INTEGER NOT NULL,
    max_us  REAL NOT NULL,
    PRIMARY KEY (run_id, script)
) STRICT, WITHOUT ROWID;

-- Time of a layer of a tile in an explained statement.
CREATE TABLE statement_layer (
    run_id   INTEGER NOT NULL,
    position INTEGER NOT NULL,
    layer    INTEGER NOT NULL,
    name     TEXT NOT NULL,
    ms       REAL NOT NULL,
    -- From the statement's plan, from a plan nested in a function, or measured alone.
    source   TEXT NOT NULL,
    PRIMARY KEY (run_id, position, layer),
    FOREIGN KEY (run_id, position) REFERENCES statement_plan
) STRICT;

-- Experiments with their number of runs, versions and host.
CREATE VIEW v_experiment AS
SELECT e.experiment_id, e.name, e.question, e.order_scheme, e.rounds, e.compare_factor, e.base, e.margin, e.created_at, e.invocations,
       (SELECT count(*) FROM run r WHERE r.experiment_id = e.experiment_id) AS runs,
       t.server_version, t.postgis_version, h.name AS host
FROM experiment e JOIN target t USING (target_id) JOIN host h USING (host_id);

-- Runs with their figures, counters, validity and doubts.
CREATE VIEW v_run AS
SELECT r.run_id, r.experiment_id, e.name AS experiment, r.kind, c.workload, r.arm, r.beside, r.round, r.sequence, r.position_in_pair,
       r.invocation, c.factors, r.clients, r.threads, r.load, r.offered_rate, r.driver, r.started_at, r.warmup_s, r.measured_s,
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
       r.set_aside, r.seed
FROM run r JOIN cell c USING (cell_id) JOIN experiment e ON e.experiment_id = r.experiment_id;

-- Cells and arms: means over valid and suspect runs. Percentiles are means of the runs' percentiles; for those of
-- all rounds together use `pgdyno table cells`.
CREATE VIEW v_cell AS
SELECT r.experiment_id, e.name AS experiment, c.workload, c.factors, r.arm, count(*) AS runs,
       avg(r.tps) AS tps_mean, max(r.tps) AS tps_max, min(r.tps) AS tps_min,
       avg(r.p50_us) AS p50_us_mean, avg(r.p95_us) AS p95_us_mean, avg(r.p99_us) AS p99_us_mean
FROM run r JOIN cell c USING (cell_id) JOIN experiment e ON e.experiment_id = r.experiment_id
WHERE r.kind = 'client' AND r.validity <> 'invalid'
GROUP BY r.experiment_id, e.name, c.workload, c.factors, r.arm;

-- Scripts of a run, with counters and exact mean, minimum and maximum of response times.
CREATE VIEW v_script AS
SELECT s.script_id, s.run_id, s.position, s.name AS script, s.weight,
       json_extract(s.counts, '$.ok') AS ok, json_extract(s.counts, '$.late') AS late,
       json_extract(s.counts, '$.failed') AS failed, json_extract(s.counts, '$.skipped') AS skipped,
       h.count AS measured, h.sum_ns / 1000.0 / h.count AS mean_us, h.min_ns / 1000.0 AS min_us, h.max_ns / 1000.0 AS max_us
FROM script s LEFT JOIN hist h ON h.script_id = s.script_id AND h.kind = 'response' AND h.start_us = -1;

-- Settings of a run.
CREATE VIEW v_run_setting AS
SELECT r.run_id, s.name, s.value, s.source FROM run r JOIN setting s USING (settings_id);

-- Texts and who used them.
CREATE VIEW v_text AS
SELECT u.experiment_id, u.used_by, u.name, u.kind, t.sha256, t.bytes, t.replaced, t.text
FROM experiment_text u JOIN text t USING (text_id);

-- The time of explained statements by part. The parts of a statement add up to its planning and execution.
CREATE VIEW v_plan_part AS
WITH part (run_id, position, part, own_ms) AS (
    SELECT run_id, position, part, sum(own_ms - functions_ms) FROM plan_node GROUP BY run_id, position, part
    UNION ALL
    SELECT run_id, position, part, sum(booked_ms) FROM statement_function WHERE booked_ms > 0 GROUP BY run_id, position, part
    UNION ALL
    SELECT run_id, position, 'planning', planning_ms FROM statement_plan
    UNION ALL
    SELECT run_id, position, 'serialization', serialization_ms FROM statement_plan WHERE serialization_ms IS NOT NULL
    UNION ALL
    SELECT run_id, position, 'triggers', triggers_ms FROM statement_plan WHERE triggers_ms > 0
    UNION ALL
    SELECT p.run_id, p.position, 'outside', max(0, p.execution_ms - coalesce(p.serialization_ms, 0) - p.triggers_ms
           - coalesce((SELECT sum(n.own_ms) FROM plan_node n WHERE n.run_id = p.run_id AND n.position = p.position), 0))
    FROM statement_plan p
)
SELECT r.experiment_id, r.run_id, c.workload, c.factors, r.arm, p.script, p.line, p.draw, part.part, part.own_ms
FROM part JOIN statement_plan p USING (run_id, position) JOIN run r USING (run_id) JOIN cell c USING (cell_id);

-- Tiles of a cell and arm over all rounds that count. Where arms are interleaved, a round counts only if each arm
-- has a valid run in it; an arm without any valid run in the cell is ignored.
CREATE VIEW v_tile AS
WITH valid AS (
    SELECT run_id, experiment_id, cell_id, arm, round FROM run WHERE validity <> 'invalid' AND set_aside IS NULL
), arms AS (
    SELECT cell_id, count(DISTINCT arm) AS arms FROM valid GROUP BY cell_id
), whole AS (
    SELECT v.cell_id, v.round FROM valid v JOIN arms a USING (cell_id) GROUP BY v.cell_id, v.round, a.arms
    HAVING count(DISTINCT v.arm) = a.arms
)
SELECT r.experiment_id, c.workload, c.factors, r.arm, s.name AS script, s.layer, s.cached, t.z, t.x, t.y,
       sum(t.requests) AS requests, sum(t.mean_us * t.requests) / sum(t.requests) AS mean_us, max(t.max_us) AS max_us,
       sum(t.bytes * t.requests) / sum(t.requests) AS bytes, min(t.script) AS position
FROM valid r JOIN cell c USING (cell_id) JOIN experiment e ON e.experiment_id = r.experiment_id
     -- In this order: there are few runs, and very many tiles.
     CROSS JOIN tile t ON t.run_id = r.run_id JOIN script s ON s.run_id = t.run_id AND s.position = t.script
WHERE e.order_scheme IN ('single', 'sets', 'imported')
      OR e.experiment_id IN (SELECT experiment_id FROM run JOIN run_figure f USING (run_id) WHERE f.name IN ('promise_kept', 'peak_per_s'))
      OR (r.cell_id, r.round) IN (SELECT cell_id, round FROM whole)
GROUP BY r.experiment_id, c.workload, c.factors, r.arm, s.name, s.layer, s.cached, t.z, t.x, t.y;
