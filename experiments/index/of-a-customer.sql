-- What the index is for.
\set customer random(1, 10000)
SELECT id, placed, total FROM index_experiment.orders WHERE customer = :customer ORDER BY placed DESC LIMIT 20;
