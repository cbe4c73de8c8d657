-- part = "CPU, of one backend and of all"
-- share = 0.08
-- work = "100000"
-- gives = "5000050000"

-- 2 to 10 ms a shot on processors of the last ten years. In the SELECT list rows come one by one; FROM would store them first.
SELECT shot, (SELECT sum(i) FROM (SELECT generate_series(1, 100000 + shot * 0) AS i) AS rows) AS gives, :clock_us AS ended_us
  FROM generate_series(0, 9999) AS shot
 WHERE clock_timestamp() < (SELECT clock_timestamp() + interval ':time_ms milliseconds')
