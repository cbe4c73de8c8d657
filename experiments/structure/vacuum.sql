-- A statement of its own, since it cannot run in a transaction: statistics and visibility of all tables, the raw ones, too.
VACUUM (ANALYZE);
