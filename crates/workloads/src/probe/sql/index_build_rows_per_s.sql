-- part = "index builds"
-- share = 0.1
-- needs = "temporary"
-- work = "200000"
-- most = 20
-- detail = "200000 integers, sorted in memory, without WAL"

-- Enough to sort without a file. The table goes with the transaction, whatever ends that.
SET LOCAL maintenance_work_mem = '64MB';
CREATE TEMPORARY TABLE pgdyno_probe_rows ON COMMIT DROP AS SELECT hashint4(n) AS key FROM generate_series(1, 200000) AS n;
-- The first one does not count: it finds the rows unread. Dropped ones are on the disk until the end of the message.
CREATE INDEX pgdyno_probe_index ON pgdyno_probe_rows (key); DROP INDEX pgdyno_probe_index;
SELECT :clock_us AS started_us; CREATE INDEX pgdyno_probe_index ON pgdyno_probe_rows (key); SELECT :clock_us AS ended_us; DROP INDEX pgdyno_probe_index;
SELECT :clock_us AS started_us; CREATE INDEX pgdyno_probe_index ON pgdyno_probe_rows (key); SELECT :clock_us AS ended_us; DROP INDEX pgdyno_probe_index;
SELECT :clock_us AS started_us; CREATE INDEX pgdyno_probe_index ON pgdyno_probe_rows (key); SELECT :clock_us AS ended_us; DROP INDEX pgdyno_probe_index
