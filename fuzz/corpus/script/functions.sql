\set a abs(-1) + int(2.5e0) * double(3) - mod(7, 4) % 5
\set l least(1, 2.0, 3) + greatest(:a, :client_id, 17)
\set h hash(10, 5432) # hash_fnv1a(:h0) # hash_murmur2(1, 2)
\set p permute(0, 10) + permute(:a, 9223372036854775807, 5432)
\set q sqrt(2) * exp(1) / ln(2) + pow(2, 0.5) + power(-2, 3)
\set s 1 isnull and 2 notnull or 3 is not true
select :a, :l, :h, :p, :q, :s;
