\set a debug(random_gaussian(1, 100000, 3.1))
\set a debug(:default_seed)
