-- The last reading of each sensor of a site: sort all readings, keep the first of each sensor.
\set site random(1, 100)
SELECT DISTINCT ON (sensor) sensor, taken, value
FROM queries_experiment.reading JOIN queries_experiment.sensor USING (sensor)
WHERE site = :site
ORDER BY sensor, taken DESC;
