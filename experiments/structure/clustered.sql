-- The restructured tables once more, sorted by place: rows that are near each other on the map are near each other on the disk.
-- ORDER BY on a geometry follows a Hilbert curve (PostGIS 3), as osm2pgsql's own sorting of its tables does. So the raw tables are
-- sorted, too, but all kinds of things together; here each kind is on its own.
CREATE SCHEMA IF NOT EXISTS clustered;
DROP TABLE IF EXISTS clustered.bench, clustered.tree, clustered.poi, clustered.road, clustered.building, clustered.landuse,
    clustered.county, clustered.municipality;

CREATE TABLE clustered.bench AS SELECT * FROM restructured.bench ORDER BY geom;
CREATE TABLE clustered.tree AS SELECT * FROM restructured.tree ORDER BY geom;
CREATE TABLE clustered.poi AS SELECT * FROM restructured.poi ORDER BY geom;
CREATE TABLE clustered.road AS SELECT * FROM restructured.road ORDER BY geom;
CREATE TABLE clustered.building AS SELECT * FROM restructured.building ORDER BY geom;
CREATE TABLE clustered.landuse AS SELECT * FROM restructured.landuse ORDER BY geom;
CREATE TABLE clustered.county AS SELECT * FROM restructured.county ORDER BY geom;
CREATE TABLE clustered.municipality AS SELECT * FROM restructured.municipality ORDER BY geom;

-- The indexes of restructured.sql.
CREATE INDEX bench_geom ON clustered.bench USING gist (geom);
CREATE INDEX tree_geom ON clustered.tree USING gist (geom);
CREATE INDEX poi_geom ON clustered.poi USING gist (geom);
CREATE INDEX poi_kind ON clustered.poi (kind);
CREATE INDEX road_geom ON clustered.road USING gist (geom);
CREATE INDEX road_ref ON clustered.road (ref);
CREATE INDEX building_geom ON clustered.building USING gist (geom);
CREATE INDEX landuse_geom ON clustered.landuse USING gist (geom);
CREATE INDEX landuse_osm_id ON clustered.landuse (osm_id);
CREATE INDEX county_osm_id ON clustered.county (osm_id);
CREATE INDEX municipality_osm_id ON clustered.municipality (osm_id);
