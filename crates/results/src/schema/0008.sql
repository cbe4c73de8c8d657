-- Single tiles of arms that are compared, from rounds that all of them have.

DROP VIEW v_tile;

-- Each tile over the rounds of an arm that count. Where arms are interleaved, a round in which one of them has no run that counts
-- counts for none; an arm that has none in the whole cell takes nothing out. Trials of a search are no pairs.
CREATE VIEW v_tile AS
WITH valid AS (
    SELECT run_id, experiment_id, cell_id, arm, round FROM run WHERE validity <> 'invalid' AND set_aside IS NULL
), arms AS (
    SELECT cell_id, count(DISTINCT arm) AS arms FROM valid GROUP BY cell_id
), whole AS (
    SELECT v.cell_id, v.round FROM valid v JOIN arms a USING (cell_id) GROUP BY v.cell_id, v.round, a.arms
    HAVING count(DISTINCT v.arm) = a.arms
)
SELECT r.experiment_id, c.workload, c.factors, r.arm, s.name AS script, s.layer, s.cached, t.z, t.x, t.y,
       sum(t.requests) AS requests, sum(t.mean_us * t.requests) / sum(t.requests) AS mean_us, max(t.max_us) AS max_us,
       sum(t.bytes * t.requests) / sum(t.requests) AS bytes, min(t.script) AS position
FROM valid r JOIN cell c USING (cell_id) JOIN experiment e ON e.experiment_id = r.experiment_id
     -- In this order: there are few runs, and very many tiles.
     CROSS JOIN tile t ON t.run_id = r.run_id JOIN script s ON s.run_id = t.run_id AND s.position = t.script
WHERE e.order_scheme IN ('single', 'imported') OR json_extract(e.plan_json, '$.content.search') IS NOT NULL
      OR (r.cell_id, r.round) IN (SELECT cell_id, round FROM whole)
GROUP BY r.experiment_id, c.workload, c.factors, r.arm, s.name, s.layer, s.cached, t.z, t.x, t.y;
