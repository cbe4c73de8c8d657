\set i1 debug(random(10, 19))
\set d1 debug(random_exponential(1, 100, 2.5))
\set g1 debug(random_gaussian(1, 100, 2.5))
\set z1 debug(random_zipfian(1, 100, 1.2))
\set n (not true or :i1 is null) and false is not false
\set c case when :i1 > 5 then 1.5 when null then 2 else pi() end
\set b ~ 3 & 5 | 7 # 2 << 3 >> 1
\set m -9223372036854775808 / (1 + 0x) 
