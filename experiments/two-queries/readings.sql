-- 100 sites with 20 sensors each, 150 readings of each sensor.
CREATE SCHEMA IF NOT EXISTS queries_experiment;
DROP TABLE IF EXISTS queries_experiment.reading, queries_experiment.sensor;
CREATE TABLE queries_experiment.sensor (sensor int PRIMARY KEY, site int NOT NULL);
CREATE TABLE queries_experiment.reading (sensor int, taken timestamptz, value real, PRIMARY KEY (sensor, taken));
INSERT INTO queries_experiment.sensor SELECT sensor, 1 + sensor % 100 FROM generate_series(1, 2000) AS sensor;
CREATE INDEX ON queries_experiment.sensor (site);
INSERT INTO queries_experiment.reading
SELECT sensor, timestamptz '2026-01-01' + number * interval '10 minutes', (sensor * number) % 101
FROM generate_series(1, 2000) AS sensor, generate_series(1, 150) AS number;
ANALYZE queries_experiment.sensor, queries_experiment.reading;
