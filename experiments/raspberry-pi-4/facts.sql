-- A shop's sales: one fact table, two lookups, and the view that reports read. Three years, made up, the same every time.
DROP VIEW IF EXISTS sale_detail;
DROP TABLE IF EXISTS sale, product, shop;

CREATE TABLE product (
    product_id int PRIMARY KEY,
    category text NOT NULL,
    name text NOT NULL,
    price numeric(8, 2) NOT NULL
);
INSERT INTO product
SELECT i, (ARRAY['bread', 'dairy', 'fruit', 'garden', 'household', 'paper', 'spices', 'tools'])[1 + i % 8],
       'product ' || i, 1 + (i * 7919 % 9900) / 100.0
FROM generate_series(1, 500) AS i;

CREATE TABLE shop (
    shop_id int PRIMARY KEY,
    region text NOT NULL,
    opened date NOT NULL
);
INSERT INTO shop
SELECT i, (ARRAY['north', 'east', 'south', 'west', 'islands'])[1 + i % 5], date '2009-01-01' + i * 17
FROM generate_series(1, 200) AS i;

CREATE TABLE sale (
    sale_id bigint NOT NULL,
    sold_on date NOT NULL,
    shop_id int NOT NULL,
    product_id int NOT NULL,
    quantity int NOT NULL
);
-- Multiplying by large primes scatters shops, products and quantities without chance.
INSERT INTO sale
SELECT i, date '2017-01-01' + (i * 1095 / 1000000)::int, 1 + (i * 48271 % 65537 % 200)::int,
       1 + (i * 69621 % 104729 % 500)::int, 1 + (i * 16807 % 7919 % 12)::int
FROM generate_series(0::bigint, 999999) AS i;

ALTER TABLE sale ADD PRIMARY KEY (sale_id);
CREATE INDEX sale_sold_on ON sale (sold_on);

CREATE VIEW sale_detail AS
SELECT sale.sold_on, shop.region, product.category, product.name AS product, sale.quantity,
       sale.quantity * product.price AS amount
FROM sale
JOIN product USING (product_id)
JOIN shop USING (shop_id);

ANALYZE sale, product, shop;
