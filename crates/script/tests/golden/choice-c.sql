\set a debug(:client_id * 1000000000000 + random_exponential(1, 1000000000, 0.5))
