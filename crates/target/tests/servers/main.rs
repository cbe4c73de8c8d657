//! End-to-end: real private servers under real watchdogs. They need PostgreSQL, redis-server,
//! pgbouncer and openssl on this machine.

mod change;
mod copies;
mod managed;
mod placement;
mod pooler;
mod programs;
mod redis;
mod settings;
mod silence;
mod support;
mod tls;
mod url;
