-- What collectors read, what ran beside the grid, what was set aside, what imported runs were read from; invocations
-- by their name.

CREATE TABLE sample (
    run_id  INTEGER NOT NULL REFERENCES run,
    scope   TEXT NOT NULL,
    source  TEXT NOT NULL,
    name    TEXT NOT NULL,
    time_us INTEGER NOT NULL,
    value   REAL NOT NULL
) STRICT;
CREATE INDEX sample_run ON sample (run_id, name, time_us);

CREATE TABLE import_source (
    run_id INTEGER NOT NULL REFERENCES run,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (sha256, run_id)
) STRICT, WITHOUT ROWID;

-- So far the hashes stood at the end of a sentence: "FILES; sha256 HASH HASH ...".
WITH RECURSIVE source (run_id, sha256, rest) AS (
    SELECT run_id, substr(detail, -64), substr(detail, 1, length(detail) - 65) FROM event
    WHERE kind = 'imported' AND length(detail) > 65
    UNION ALL
    SELECT run_id, substr(rest, -64), substr(rest, 1, length(rest) - 65) FROM source
    WHERE rest NOT LIKE '%; sha256' AND length(rest) > 65
)
INSERT OR IGNORE INTO import_source
SELECT run_id, sha256 FROM source WHERE sha256 NOT GLOB '*[^0-9a-f]*';

DROP VIEW v_experiment;
DROP VIEW v_run;
ALTER TABLE experiment RENAME COLUMN sessions TO invocations;
ALTER TABLE run RENAME COLUMN session TO invocation;

ALTER TABLE run ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;
-- So far it was guessed: clients without an arm, where arms are compared. Where nothing is compared the plan tells it.
UPDATE run SET beside = 1
FROM experiment e, cell c
WHERE run.kind = 'client' AND run.arm IS NULL AND e.experiment_id = run.experiment_id AND c.cell_id = run.cell_id
  AND (json_array_length(e.arms) > 1
       OR c.workload IN (SELECT value FROM json_each(e.plan_json, '$.content.beside_workloads')));

-- So far it was an event.
ALTER TABLE run ADD COLUMN set_aside TEXT;
UPDATE run SET set_aside = event.detail FROM event WHERE event.run_id = run.run_id AND event.kind = 'set aside';

-- A queue that was left at the end is an overload.
UPDATE run_doubt SET reason = 'overloaded' WHERE reason = 'backlog_at_end';

CREATE VIEW v_experiment AS
SELECT e.experiment_id, e.name, e.question, e.order_scheme, e.rounds, e.compare_factor, e.base, e.margin, e.created_at, e.invocations,
       (SELECT count(*) FROM run r WHERE r.experiment_id = e.experiment_id) AS runs,
       t.server_version, t.postgis_version, h.name AS host
FROM experiment e JOIN target t USING (target_id) JOIN host h USING (host_id);

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
