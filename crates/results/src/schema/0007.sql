-- Parts of a map: which one a script asks for, single tiles, and what tiles of a sample hold.

ALTER TABLE script ADD COLUMN layer TEXT;
ALTER TABLE script ADD COLUMN zoom INTEGER;
-- Whether a cache in front gave its answers, 0 or 1; NULL where there is none.
ALTER TABLE script ADD COLUMN cached INTEGER;

-- Tiles that were asked for in the measured part of a run.
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

-- What tiles of a sample hold, over all of them, by script.
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

-- Each tile over all rounds of an arm.
CREATE VIEW v_tile AS
SELECT r.experiment_id, c.workload, c.factors, r.arm, s.name AS script, s.layer, s.cached, t.z, t.x, t.y,
       sum(t.requests) AS requests, sum(t.mean_us * t.requests) / sum(t.requests) AS mean_us, max(t.max_us) AS max_us,
       sum(t.bytes * t.requests) / sum(t.requests) AS bytes
FROM tile t JOIN run r USING (run_id) JOIN cell c USING (cell_id) JOIN script s ON s.run_id = t.run_id AND s.position = t.script
WHERE r.validity <> 'invalid' AND r.set_aside IS NULL
GROUP BY r.experiment_id, c.workload, c.factors, r.arm, s.name, s.layer, s.cached, t.z, t.x, t.y;
-- What functions took of the time of an explained statement, as far as the server counts them.

ALTER TABLE statement_plan ADD COLUMN functions_evened_ms REAL NOT NULL DEFAULT 0;
ALTER TABLE plan_node ADD COLUMN functions_ms REAL NOT NULL DEFAULT 0;

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

-- Of what each statement's time is made, as the report shows it: its parts add up to planning and execution. What is booked with
-- functions is no part of the nodes that call them.
DROP VIEW v_plan_part;
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
