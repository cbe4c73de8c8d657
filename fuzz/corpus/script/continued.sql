\set x 1 + \
  2 * \
 (3 -\
 4)
select :x
  from t
 where a = 1.5e-3;
