-- In a window of 4 km by 4 km: how many buildings stand in each square of 250 m?
-- The grid begins where the map does, so squares are the same whatever the window; at its edge they are cut off.
\set number random(1, 1000)
SELECT floor(ST_X(building.centre) / (250 * drawn.metre)) AS across, floor(ST_Y(building.centre) / (250 * drawn.metre)) AS up,
       count(*) AS buildings
FROM question.window_at AS drawn
JOIN building ON building.geom && drawn.geom
WHERE drawn.number = :number
GROUP BY across, up
ORDER BY across, up;
