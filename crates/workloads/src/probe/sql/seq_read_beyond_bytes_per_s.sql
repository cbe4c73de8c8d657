-- part = "reading pages (scratch data are written first)"
-- share = 0.04
-- needs = "schema"
-- data = "pages-beyond"
-- work = ":piece_bytes"
-- gives = ":piece"

-- A piece for each shot: each once, or where pages are cached the first one again and again (:is_new is 0).
SET LOCAL enable_seqscan = off; SET LOCAL enable_tidscan = on;
SELECT shot, (SELECT count(*) FROM :pages
               WHERE ctid >= ('(' || (shot + 1) * :is_new * :piece || ',0)')::tid
                 AND ctid < ('(' || ((shot + 1) * :is_new + 1) * :piece || ',0)')::tid) AS gives,
       :clock_us AS ended_us
  FROM generate_series(0, :last_piece) AS shot
 WHERE clock_timestamp() < (SELECT clock_timestamp() + interval ':time_ms milliseconds')
