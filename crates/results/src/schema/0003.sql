-- Slices: where the arms of a pair took turns within a run.

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
