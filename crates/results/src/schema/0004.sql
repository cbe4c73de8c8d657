-- The texts of scripts, queries and SQL files, each once, and who used them.

CREATE TABLE text (
    text_id  INTEGER PRIMARY KEY,
    sha256   TEXT NOT NULL UNIQUE,
    bytes    INTEGER NOT NULL,
    -- Without secrets; nothing where it is too long to be kept, or no text.
    text     TEXT,
    -- Lines on which something was replaced, JSON.
    replaced TEXT NOT NULL
) STRICT;

CREATE TABLE experiment_text (
    experiment_id INTEGER NOT NULL REFERENCES experiment,
    used_by       TEXT NOT NULL,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    text_id       INTEGER NOT NULL REFERENCES text,
    PRIMARY KEY (experiment_id, used_by, name)
) STRICT;

CREATE VIEW v_text AS
SELECT u.experiment_id, u.used_by, u.name, u.kind, t.sha256, t.bytes, t.replaced, t.text
FROM experiment_text u JOIN text t USING (text_id);
