-- Plans of the statements of a sample of transactions, node by node, each with its own time.

CREATE TABLE statement_plan (
    run_id           INTEGER NOT NULL REFERENCES run,
    position         INTEGER NOT NULL,
    script           TEXT NOT NULL,
    line             INTEGER NOT NULL,
    -- Which transaction of the sample, from 0.
    draw             INTEGER NOT NULL,
    planning_ms      REAL NOT NULL,
    execution_ms     REAL NOT NULL,
    untimed_ms       REAL,
    serialization_ms REAL,
    triggers_ms      REAL NOT NULL,
    jit_ms           REAL NOT NULL,
    evened_ms        REAL NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT;

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
    PRIMARY KEY (run_id, position, node),
    FOREIGN KEY (run_id, position) REFERENCES statement_plan
) STRICT;

-- Of what each statement's time is made, as the report shows it: its parts add up to planning and execution.
CREATE VIEW v_plan_part AS
WITH part (run_id, position, part, own_ms) AS (
    SELECT run_id, position, part, sum(own_ms) FROM plan_node GROUP BY run_id, position, part
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
