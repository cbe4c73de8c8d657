-- The raw structure: osm2pgsql's own tables, as they are. Views give what is asked for the names that all structures share;
-- PostgreSQL puts a view's text in the place of its name, so a question is planned as if its tags were written into it.
CREATE SCHEMA IF NOT EXISTS raw;
DROP VIEW IF EXISTS raw.bench, raw.tree, raw.poi, raw.road, raw.building, raw.landuse, raw.county, raw.municipality;

CREATE VIEW raw.bench AS
SELECT osm_id, way AS geom FROM public.planet_osm_point WHERE amenity = 'bench';

CREATE VIEW raw.tree AS
SELECT osm_id, way AS geom FROM public.planet_osm_point WHERE "natural" = 'tree';

CREATE VIEW raw.poi AS
SELECT osm_id, name, coalesce(amenity, shop, tourism) AS kind, way AS geom
FROM public.planet_osm_point
WHERE coalesce(amenity, shop, tourism) IS NOT NULL;

-- Roads are ways; what is negative is the edge of a square, from a relation.
CREATE VIEW raw.road AS
SELECT osm_id, name, ref, highway AS kind, way AS geom
FROM public.planet_osm_line
WHERE highway IS NOT NULL AND osm_id > 0;

-- The centre is what a question about places on a map takes for where a building is; here it is worked out each time.
CREATE VIEW raw.building AS
SELECT osm_id, name, building AS kind, ST_Centroid(way) AS centre, way AS geom
FROM public.planet_osm_polygon
WHERE building IS NOT NULL;

CREATE VIEW raw.landuse AS
SELECT osm_id, name, landuse AS kind, way AS geom FROM public.planet_osm_polygon WHERE landuse IS NOT NULL;

-- Boundaries are relations, which have negative ids here. One of several parts (islands, say) is several rows.
-- Malta's regions have level 4, counties of the United States and of synthetic extracts level 6.
CREATE VIEW raw.county AS
SELECT osm_id, name, way AS geom
FROM public.planet_osm_polygon
WHERE boundary = 'administrative' AND admin_level IN ('4', '6') AND osm_id < 0;

CREATE VIEW raw.municipality AS
SELECT osm_id, name, way AS geom
FROM public.planet_osm_polygon
WHERE boundary = 'administrative' AND admin_level = '8' AND osm_id < 0;
