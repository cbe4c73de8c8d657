-- part = "memory, of one backend and of all"
-- share = 0.07
-- data = "texts"
-- work = ":texts_bytes"
-- gives = "t"

-- OFFSET 0 keeps the texts from being made again for each shot; the series depends on them, so that they are made first.
-- COLLATE "C" compares bytes (memcmp).
SELECT shot, (v.a COLLATE "C" = v.b) AS gives, :clock_us AS ended_us
  FROM (SELECT n, repeat(piece, :text_kb * n) AS a, repeat(piece, :text_kb * n) AS b
          FROM (SELECT n, repeat(chr(64 + n), 1024) AS piece FROM generate_series(1, 1) AS n OFFSET 0) AS pieces
        OFFSET 0) AS v, LATERAL generate_series(0, 9999 + 0 * v.n) AS shot
 WHERE clock_timestamp() < (SELECT clock_timestamp() + interval ':time_ms milliseconds')
