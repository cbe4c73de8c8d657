-- Row n is alone on page n - 1. Its bytes are a piece of 256 kB that nothing can compress, each at another place of it.
CREATE UNLOGGED TABLE :pages WITH (toast_tuple_target = :most_bytes, autovacuum_enabled = off) AS
SELECT n AS id, substring(pool.bytes FROM 1 + (n::bigint * 7919 % (262144 - :filler_bytes))::integer FOR :filler_bytes) AS filler
  FROM (SELECT string_agg(sha256(int4send(i)), ''::bytea) AS bytes FROM generate_series(1, 8192) AS i OFFSET 0) AS pool,
       generate_series(1, :blocks) AS n
