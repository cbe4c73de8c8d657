-- How often an experiment was looked at and extended, and the command that measures it.

ALTER TABLE experiment ADD COLUMN command TEXT;
ALTER TABLE experiment ADD COLUMN extended INTEGER NOT NULL DEFAULT 0;

CREATE TABLE look (
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    runs          INTEGER NOT NULL,
    looked_at     TEXT NOT NULL,
    PRIMARY KEY (experiment_id, runs)
) STRICT, WITHOUT ROWID;
