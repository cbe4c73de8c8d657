//! End-to-end: real private servers under real watchdogs. They need PostgreSQL, redis-server,
//! pgbouncer and openssl on this machine. Filesystems are made where that can be done; elsewhere it is said why not.

mod change;
mod copies;
mod managed;
mod placement;
mod pooler;
mod programs;
mod redis;
mod settings;
mod silence;
mod standing;
mod storage;
mod support;
mod tls;
mod url;
