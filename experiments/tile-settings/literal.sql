-- A tile asked as some servers do it: with its numbers in the text, so that every tile is planned by itself, and JIT and parallel workers
-- are chosen by its own costs. (A statement that is prepared soon has one plan for all tiles, which takes few rows for granted.)
\set seed random(1, 1000000)
\set z random(10, 12)
SELECT floor((ST_X(p) / w + 0.5) * 2 ^ :z)::int AS x, floor((0.5 - ST_Y(p) / w) * 2 ^ :z)::int AS y
FROM (SELECT ST_PointOnSurface(way) AS p, 40075016.685578488 AS w
      FROM planet_osm_polygon TABLESAMPLE SYSTEM (1) REPEATABLE (:seed) WHERE NOT ST_IsEmpty(way)
      ORDER BY osm_id % 1009 LIMIT 1) AS feature
\gset
SELECT ST_AsMVT(t, 'polygons', 4096, 'geom')
FROM (SELECT osm_id, name, building, landuse,
             ST_AsMVTGeom(ST_Transform(geom, 3857), ST_TileEnvelope(:z, :x, :y)) AS geom
      FROM polygons_4326 WHERE geom && ST_Transform(ST_TileEnvelope(:z, :x, :y), 4326)) AS t;
