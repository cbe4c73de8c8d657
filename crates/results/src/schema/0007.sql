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
