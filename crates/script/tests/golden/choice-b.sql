\set a debug(random(1, 1000000000))
