-- as = "round_trip_us"

SELECT 1
