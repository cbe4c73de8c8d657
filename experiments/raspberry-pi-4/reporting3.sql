-- The products of a month that one region bought most of.
\set month random(0, 35)
\set which random(1, 5)
SELECT product, sum(quantity) AS pieces, sum(amount) AS turnover
FROM sale_detail
WHERE sold_on >= date '2017-01-01' + interval '1 month' * :month
  AND sold_on < date '2017-01-01' + interval '1 month' * (:month + 1)
  AND region = (ARRAY['north', 'east', 'south', 'west', 'islands'])[:which]
GROUP BY product
ORDER BY turnover DESC
LIMIT 20;
