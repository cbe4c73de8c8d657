-- The clustered tables once more, drawn more roughly: a vertex goes where the line moves by less than 5 m without it, at
-- buildings 1 m. Benches, trees and points of interest stay as they are. Answers differ where a line decides; that is the price.
CREATE SCHEMA IF NOT EXISTS simplified;
DROP TABLE IF EXISTS simplified.bench, simplified.tree, simplified.poi, simplified.road, simplified.building,
    simplified.landuse, simplified.county, simplified.municipality;
DROP FUNCTION IF EXISTS simplified.metre, simplified.area;

-- How many units of the map (SRID 3857) a metre is where this is: 1 at the equator, 1.24 in Malta, 2 at 60 degrees.
CREATE FUNCTION simplified.metre(geom geometry) RETURNS double precision LANGUAGE sql IMMUTABLE AS
$$ SELECT 1 / cos(radians(public.ST_Y(public.ST_Transform(public.ST_Centroid(public.ST_Envelope(geom)), 4326)))) $$;

-- Neither an area nor its holes vanish, and no edge crosses another.
CREATE FUNCTION simplified.area(geom geometry, metres double precision) RETURNS geometry LANGUAGE sql IMMUTABLE AS
$$ SELECT public.ST_SimplifyPreserveTopology(geom, metres * simplified.metre(geom)) $$;

CREATE TABLE simplified.bench AS SELECT * FROM clustered.bench ORDER BY geom;
CREATE TABLE simplified.tree AS SELECT * FROM clustered.tree ORDER BY geom;
CREATE TABLE simplified.poi AS SELECT * FROM clustered.poi ORDER BY geom;
CREATE TABLE simplified.road AS
SELECT osm_id, name, ref, kind, ST_Simplify(geom, 5 * simplified.metre(geom), true) AS geom FROM clustered.road ORDER BY geom;
-- The centre is that of the building as it was: what is worked out before simplifying stays right.
CREATE TABLE simplified.building AS
SELECT osm_id, name, kind, centre, simplified.area(geom, 1) AS geom FROM clustered.building ORDER BY geom;
CREATE TABLE simplified.landuse AS
SELECT osm_id, name, kind, simplified.area(geom, 5) AS geom FROM clustered.landuse ORDER BY geom;

-- Boundaries are simplified whole and cut afterwards: pieces simplified one by one would leave gaps between them.
CREATE TABLE simplified.county AS
SELECT osm_id, name, ST_Subdivide(simplified.area(geom, 5), 128) AS geom FROM public.structured_county ORDER BY geom;
CREATE TABLE simplified.municipality AS
SELECT osm_id, name, ST_Subdivide(simplified.area(geom, 5), 128) AS geom FROM public.structured_municipality ORDER BY geom;

-- The indexes of restructured.sql.
CREATE INDEX bench_geom ON simplified.bench USING gist (geom);
CREATE INDEX tree_geom ON simplified.tree USING gist (geom);
CREATE INDEX poi_geom ON simplified.poi USING gist (geom);
CREATE INDEX poi_kind ON simplified.poi (kind);
CREATE INDEX road_geom ON simplified.road USING gist (geom);
CREATE INDEX road_ref ON simplified.road (ref);
CREATE INDEX building_geom ON simplified.building USING gist (geom);
CREATE INDEX landuse_geom ON simplified.landuse USING gist (geom);
CREATE INDEX landuse_osm_id ON simplified.landuse (osm_id);
CREATE INDEX county_osm_id ON simplified.county (osm_id);
CREATE INDEX municipality_osm_id ON simplified.municipality (osm_id);
