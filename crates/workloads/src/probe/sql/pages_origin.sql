SET LOCAL enable_seqscan = off; SET LOCAL enable_tidscan = on;
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT count(*) FROM :pages WHERE ctid >= '(:from,0)'::tid AND ctid < '(:to,0)'::tid
