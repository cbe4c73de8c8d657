//! The fuzz targets of `fuzz/` over their corpora and a bounded number of inputs made from them.

mod conninfo;
mod handshake;
mod http;
mod messages;
#[path = "../../../../fuzz/mutate.rs"]
mod mutate;
mod redis;

#[test]
fn messages_of_a_postgresql_server() {
    mutate::run("messages", 1, 10_000, messages::run);
}

#[test]
fn handshakes_with_a_postgresql_server() {
    mutate::run("handshake", 2, 10_000, handshake::run);
}

#[test]
fn replies_of_a_redis_server() {
    mutate::run("redis", 3, 10_000, redis::run);
}

#[test]
fn connection_strings() {
    mutate::run("conninfo", 4, 10_000, conninfo::run);
}

#[test]
fn responses_of_a_web_server() {
    mutate::run("http", 6, 10_000, http::run);
}
