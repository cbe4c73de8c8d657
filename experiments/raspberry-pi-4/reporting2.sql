-- What sold best in a quarter, by category.
\set quarter random(0, 11)
SELECT category, sum(amount) AS turnover, avg(amount) AS of_a_sale, max(quantity) AS most_at_once
FROM sale_detail
WHERE sold_on >= date '2017-01-01' + interval '3 months' * :quarter
  AND sold_on < date '2017-01-01' + interval '3 months' * (:quarter + 1)
GROUP BY category
ORDER BY turnover DESC;
