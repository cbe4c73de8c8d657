-- In a county: which benches have most trees within 10 m?
-- A bench that lies on the line between two pieces of a county is found twice; DISTINCT counts its trees once.
\set number random(1, 1000)
SELECT bench.osm_id, count(DISTINCT tree.osm_id) AS trees
FROM question.county AS drawn
JOIN county ON county.osm_id = drawn.osm_id
JOIN bench ON ST_Intersects(county.geom, bench.geom)
LEFT JOIN tree ON ST_DWithin(bench.geom, tree.geom, 10 * drawn.metre)
WHERE drawn.number = :number
GROUP BY bench.osm_id
ORDER BY trees DESC, bench.osm_id
LIMIT 10;
