-- part = "round trips"
-- share = 0.025
-- client-clock = true
-- warm-up = 20
-- most = 2000

;
