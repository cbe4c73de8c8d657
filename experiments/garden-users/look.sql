-- What was seen of one planting, with its photos.
\set planting random_zipfian(1, 100000, 1.1)
SELECT o.seen_at, o.height_cm, o.note, array_agg(f.path) FILTER (WHERE f.path IS NOT NULL) AS photos
FROM garden.observation o LEFT JOIN garden.photo f USING (observation_id)
WHERE o.planting_id = :planting GROUP BY o.observation_id ORDER BY o.seen_at DESC LIMIT 10;
