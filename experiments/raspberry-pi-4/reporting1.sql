-- A year by month and region.
\set year random(2017, 2019)
SELECT date_trunc('month', sold_on)::date AS month, region, count(*) AS sales, sum(quantity) AS pieces
FROM sale_detail
WHERE sold_on >= make_date(:year, 1, 1) AND sold_on < make_date(:year + 1, 1, 1)
GROUP BY 1, 2
ORDER BY 1, 2;
