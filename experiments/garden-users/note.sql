-- The third query of a session writes, as the study's did: a new observation.
\set planting random(1, 100000)
\set height random(10, 900)
INSERT INTO garden.observation (planting_id, seen_at, height_cm, note)
VALUES (:planting, clock_timestamp(), :height / 10.0, 'a note from the garden') RETURNING observation_id;
