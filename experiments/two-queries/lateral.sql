-- The same: for each sensor, go to its last reading by the index.
\set site random(1, 100)
SELECT sensor, taken, value
FROM queries_experiment.sensor,
LATERAL (SELECT taken, value FROM queries_experiment.reading AS r
         WHERE r.sensor = sensor.sensor ORDER BY taken DESC LIMIT 1) AS last
WHERE site = :site;
