-- What the index costs: an update of an indexed column writes to every index of the table. Twenty orders at once.
\set block random(0, 9999)
\set step random(1, 9999)
UPDATE index_experiment.orders SET customer = 1 + (customer + :step) % 10000
WHERE id BETWEEN 20 * :block + 1 AND 20 * :block + 20;
