-- The gardener opens the diary: the plots, and what grows there.
\set gardener random_zipfian(1, 5000, 1.1)
SELECT o.plot_id, o.name, o.area_m2, count(p.planting_id) AS plantings, max(p.planted_on) AS last_planted
FROM garden.plot o LEFT JOIN garden.planting p USING (plot_id)
WHERE o.gardener_id = :gardener GROUP BY o.plot_id ORDER BY o.name LIMIT 20;
