-- The restructured schema: what style.lua sorted into themes, with what is asked for worked out beforehand and indexed, in
-- the order of the file that was loaded (osm2pgsql's own tables are sorted by place; clustered.sql does that to these).
CREATE SCHEMA IF NOT EXISTS restructured;
DROP TABLE IF EXISTS restructured.bench, restructured.tree, restructured.poi, restructured.road, restructured.building,
    restructured.landuse, restructured.county, restructured.municipality;

-- A second scan of a large table begins where another one is; tables are to be copied in their order.
SET LOCAL synchronize_seqscans = off;

CREATE TABLE restructured.bench AS SELECT osm_id, geom FROM public.structured_bench;
CREATE TABLE restructured.tree AS SELECT osm_id, geom FROM public.structured_tree;
CREATE TABLE restructured.poi AS SELECT osm_id, name, kind, geom FROM public.structured_poi;
CREATE TABLE restructured.road AS SELECT osm_id, name, ref, kind, geom FROM public.structured_road;
CREATE TABLE restructured.building AS
SELECT osm_id, name, kind, ST_Centroid(geom) AS centre, geom FROM public.structured_building;
CREATE TABLE restructured.landuse AS SELECT osm_id, name, kind, geom FROM public.structured_landuse;

-- A boundary has thousands of vertices and a box that covers half of everything. Cut into pieces of at most 128 vertices, the
-- index tells most of what is inside from what is not, and what it cannot tell is compared with few vertices.
CREATE TABLE restructured.county AS
SELECT osm_id, name, ST_Subdivide(geom, 128) AS geom FROM public.structured_county;
CREATE TABLE restructured.municipality AS
SELECT osm_id, name, ST_Subdivide(geom, 128) AS geom FROM public.structured_municipality;

CREATE INDEX bench_geom ON restructured.bench USING gist (geom);
CREATE INDEX tree_geom ON restructured.tree USING gist (geom);
CREATE INDEX poi_geom ON restructured.poi USING gist (geom);
-- Two indexes, not one GiST index of (kind, geom): the planner takes that for questions about the place alone, too, and it is four
-- times as slow for them.
CREATE INDEX poi_kind ON restructured.poi (kind);
CREATE INDEX road_geom ON restructured.road USING gist (geom);
CREATE INDEX road_ref ON restructured.road (ref);
CREATE INDEX building_geom ON restructured.building USING gist (geom);
CREATE INDEX landuse_geom ON restructured.landuse USING gist (geom);
CREATE INDEX landuse_osm_id ON restructured.landuse (osm_id);
CREATE INDEX county_osm_id ON restructured.county (osm_id);
CREATE INDEX municipality_osm_id ON restructured.municipality (osm_id);
