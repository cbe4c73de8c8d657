-- part = "commits"
-- share = 0.04
-- needs = "schema"
-- warm-up = 1
-- most = 1000

CREATE TABLE :commits (number integer NOT NULL, filler text NOT NULL)

-- each shot:
SET LOCAL synchronous_commit = on;
INSERT INTO :commits VALUES (1, repeat('x', 100));
SELECT :clock_us AS started_us; COMMIT; SELECT :clock_us AS ended_us;
-- For the COMMIT that ends every message.
BEGIN
