\set v 3
\if :v > 5
select 1;
\elif :v = 3 and not :v is null
  \if false
    \sleep 1
  \else
    \sleep :v ms
  \endif
\elif true
select 2;
\else
select 3;
\endif
