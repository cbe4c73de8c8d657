-- title = "round trip, empty query"
-- meaning = "what each statement pays before any work: network, TLS, wake-ups"
-- unit = "us"
-- better = "lower"
-- part = "round trips"
-- share = 0.025
-- client-clock = true
-- warm-up = 20
-- most = 2000

;
