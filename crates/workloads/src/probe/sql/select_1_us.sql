-- as = "round_trip_us"
-- title = "round trip, SELECT 1"
-- meaning = "the least that a statement with an answer takes here"

SELECT 1
