-- as = "commit_us"

SET LOCAL synchronous_commit = off;
INSERT INTO :commits VALUES (1, repeat('x', 100));
SELECT :clock_us AS started_us; COMMIT; SELECT :clock_us AS ended_us;
BEGIN
