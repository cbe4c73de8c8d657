select 1 as one \; select 2 as two, :scale as s \gset p_
\set x :p_x + 1
select 3 \aset
select ':p_x'::text, $$:p_x;$$, "a;""b", E'\'; ' -- :comment;
/* ; /* nested */ :x */ ;
