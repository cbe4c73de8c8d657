-- 200,000 orders of 10,000 customers, without an index on the customer. A tenth of each page is left free for updates.
CREATE SCHEMA IF NOT EXISTS index_experiment;
DROP TABLE IF EXISTS index_experiment.orders;
CREATE TABLE index_experiment.orders (
    id bigint PRIMARY KEY, customer int NOT NULL, placed timestamptz NOT NULL, total numeric NOT NULL
) WITH (fillfactor = 90);
INSERT INTO index_experiment.orders
SELECT id, 1 + abs(hashint8(id)::bigint) % 10000, timestamptz '2026-01-01' + id * interval '1 minute', id % 997
FROM generate_series(1, 200000) AS id;
ANALYZE index_experiment.orders;
