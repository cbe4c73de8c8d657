-- Along a route, all its roads together: what lies within 100 m of it?
\set number random(1, 1000)
SELECT poi.osm_id, poi.kind, poi.name, round(min(ST_Distance(poi.geom, road.geom) / drawn.metre)) AS metres
FROM question.route AS drawn
JOIN road ON road.ref = drawn.ref
JOIN poi ON ST_DWithin(poi.geom, road.geom, 100 * drawn.metre)
WHERE drawn.number = :number
GROUP BY poi.osm_id, poi.kind, poi.name
ORDER BY metres, poi.osm_id
LIMIT 50;
