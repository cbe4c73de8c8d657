-- The polygons once more in degrees, as many keep them: every tile transforms what it draws.
CREATE TABLE polygons_4326 AS
SELECT osm_id, name, building, landuse, ST_Transform(way, 4326) AS geom FROM planet_osm_polygon;
CREATE INDEX ON polygons_4326 USING gist (geom);
ANALYZE polygons_4326;
