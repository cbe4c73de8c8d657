-- What the questions are about, drawn from what is in the data: a thousand numbers for each question, and what each stands for.
-- So a script draws a number from 1 to 1000 whatever was loaded, and a seed repeats it. All structures are asked for the same: the
-- tables are made from the restructured tables, which hold what the raw ones hold.
--
-- Distances: the tables are in SRID 3857, whose unit is a metre at the equator only. "metre" is how many units a metre is where
-- the question is asked, 1 / cos(latitude). Over the 100 km from end to end of a county that is wrong by less than 1 %; of a few
-- kilometres around, by a few parts in ten thousand.
CREATE SCHEMA IF NOT EXISTS question;
DROP TABLE IF EXISTS question.county, question.nearest, question.landuse, question.municipality, question.window_at, question.route;
DROP FUNCTION IF EXISTS question.metre;

CREATE FUNCTION question.metre(geom geometry) RETURNS double precision LANGUAGE sql IMMUTABLE AS
$$ SELECT 1 / cos(radians(public.ST_Y(public.ST_Transform(public.ST_Centroid(public.ST_Envelope(geom)), 4326)))) $$;

-- Counties with benches. md5 shuffles without chance; a number beyond the last candidate begins with the first one again.
CREATE TABLE question.county AS
WITH candidate AS (
    SELECT osm_id, question.metre(ST_Collect(geom)) AS metre, row_number() OVER (ORDER BY md5(osm_id::text)) - 1 AS place
    FROM restructured.county
    GROUP BY osm_id
    HAVING bool_or(EXISTS (SELECT FROM restructured.bench WHERE ST_Intersects(bench.geom, county.geom)))
)
SELECT number, osm_id, metre
FROM generate_series(1, 1000) AS number
JOIN candidate ON place = number % (SELECT count(*) FROM candidate);

-- Where people stand and what they look for: at a building, and a kind of which there are at least ten, each as likely.
CREATE TABLE question.nearest AS
WITH standing AS (
    SELECT centre AS geom, row_number() OVER (ORDER BY md5(osm_id::text), ST_X(centre), ST_Y(centre)) - 1 AS place
    FROM restructured.building
), sought AS (
    SELECT kind, row_number() OVER (ORDER BY kind) - 1 AS place FROM restructured.poi GROUP BY kind HAVING count(*) >= 10
)
SELECT number, sought.kind, standing.geom, question.metre(standing.geom) AS metre
FROM generate_series(1, 1000) AS number
JOIN standing ON standing.place = number % (SELECT count(*) FROM standing)
JOIN sought ON sought.place = number % (SELECT count(*) FROM sought);

-- Areas of land use with buildings in them.
CREATE TABLE question.landuse AS
WITH candidate AS (
    SELECT osm_id, question.metre(ST_Collect(geom)) AS metre, row_number() OVER (ORDER BY md5(osm_id::text)) - 1 AS place
    FROM restructured.landuse
    GROUP BY osm_id
    HAVING bool_or(EXISTS (SELECT FROM restructured.building WHERE ST_Within(building.geom, landuse.geom)))
)
SELECT number, osm_id, metre
FROM generate_series(1, 1000) AS number
JOIN candidate ON place = number % (SELECT count(*) FROM candidate);

-- Municipalities with some land use.
CREATE TABLE question.municipality AS
WITH candidate AS (
    SELECT osm_id, row_number() OVER (ORDER BY md5(osm_id::text)) - 1 AS place
    FROM restructured.municipality
    GROUP BY osm_id
    HAVING bool_or(EXISTS (SELECT FROM restructured.landuse WHERE ST_Intersects(landuse.geom, municipality.geom)))
)
SELECT number, osm_id
FROM generate_series(1, 1000) AS number
JOIN candidate ON place = number % (SELECT count(*) FROM candidate);

-- Windows of 4 km by 4 km around buildings, so that none is empty, however much of the data is sea.
CREATE TABLE question.window_at AS
WITH standing AS (
    SELECT centre, row_number() OVER (ORDER BY md5(osm_id::text), ST_X(centre), ST_Y(centre)) - 1 AS place
    FROM restructured.building
)
SELECT number, ST_Expand(centre, 2000 * question.metre(centre)) AS geom, question.metre(centre) AS metre
FROM generate_series(1, 1000) AS number
JOIN standing ON place = number % (SELECT count(*) FROM standing);

-- Routes by what stands on their signs ("16", "DE 9"), if something lies along them.
CREATE TABLE question.route AS
WITH route AS (
    SELECT ref, question.metre(ST_Collect(geom)) AS metre FROM restructured.road WHERE ref IS NOT NULL GROUP BY ref
), candidate AS (
    SELECT ref, metre, row_number() OVER (ORDER BY md5(ref)) - 1 AS place
    FROM route
    WHERE EXISTS (
        SELECT FROM restructured.road JOIN restructured.poi ON ST_DWithin(poi.geom, road.geom, 100 * metre)
        WHERE road.ref = route.ref)
)
SELECT number, ref, metre
FROM generate_series(1, 1000) AS number
JOIN candidate ON place = number % (SELECT count(*) FROM candidate);

ALTER TABLE question.county ADD PRIMARY KEY (number);
ALTER TABLE question.nearest ADD PRIMARY KEY (number);
ALTER TABLE question.landuse ADD PRIMARY KEY (number);
ALTER TABLE question.municipality ADD PRIMARY KEY (number);
ALTER TABLE question.window_at ADD PRIMARY KEY (number);
ALTER TABLE question.route ADD PRIMARY KEY (number);
