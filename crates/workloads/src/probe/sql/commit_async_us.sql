-- as = "commit_us"
-- title = "commit, not waited for"
-- meaning = "the same with synchronous_commit = off: what is left is no disk"

SET LOCAL synchronous_commit = off;
INSERT INTO :commits VALUES (1, repeat('x', 100));
SELECT :clock_us AS started_us; COMMIT; SELECT :clock_us AS ended_us;
BEGIN
