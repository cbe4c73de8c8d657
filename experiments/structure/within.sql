-- In a residential area, a park, a quarry: which are the largest buildings that lie wholly in it?
\set number random(1, 1000)
SELECT building.osm_id, building.kind, building.name, round(ST_Area(building.geom) / (drawn.metre * drawn.metre)) AS square_metres
FROM question.landuse AS drawn
JOIN landuse ON landuse.osm_id = drawn.osm_id
JOIN building ON ST_Within(building.geom, landuse.geom)
WHERE drawn.number = :number
ORDER BY square_metres DESC, building.osm_id
LIMIT 20;
