-- part = "reading pages (scratch data are written first)"
-- share = 0.04
-- needs = "schema"
-- data = "pages-beyond"
-- work = "64"
-- gives = ":fillers_bytes"

-- 64 pages for each shot, each far from the one before; every page once, or where pages are cached those of a piece again and again.
SET LOCAL enable_seqscan = off; SET LOCAL enable_tidscan = on;
SELECT shot, (SELECT sum((SELECT octet_length(filler) FROM :pages
                           WHERE ctid = ('(' || :first + (shot::bigint * 64 + k) * :step % :count || ',1)')::tid))
                FROM generate_series(0, 63) AS k) AS gives,
       :clock_us AS ended_us
  FROM generate_series(0, :last_fetch) AS shot
 WHERE clock_timestamp() < (SELECT clock_timestamp() + interval ':time_ms milliseconds')
