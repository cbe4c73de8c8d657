-- From where I stand: what are the ten nearest of a kind (cafes, bus stops, ...), and how far are they?
\set number random(1, 1000)
SELECT poi.osm_id, poi.name, round(ST_Distance(poi.geom, drawn.geom) / drawn.metre) AS metres
FROM question.nearest AS drawn
CROSS JOIN LATERAL (
    SELECT osm_id, name, geom FROM poi
    WHERE poi.kind = drawn.kind
    ORDER BY poi.geom <-> drawn.geom, osm_id
    LIMIT 10
) AS poi
WHERE drawn.number = :number
ORDER BY metres, poi.osm_id;
