-- What share of a municipality is farmed, lived on, built on? (Areas that overlap count in each kind.)
\set number random(1, 1000)
WITH asked AS (
    SELECT municipality.geom
    FROM question.municipality AS drawn
    JOIN municipality ON municipality.osm_id = drawn.osm_id
    WHERE drawn.number = :number
)
SELECT landuse.kind,
       round((100 * sum(ST_Area(ST_Intersection(landuse.geom, asked.geom))) / (SELECT sum(ST_Area(geom)) FROM asked))::numeric, 2) AS percent
FROM asked
JOIN landuse ON ST_Intersects(landuse.geom, asked.geom)
GROUP BY landuse.kind
ORDER BY percent DESC, landuse.kind;
