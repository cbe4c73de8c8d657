//! End-to-end: real private servers under real watchdogs. They need PostgreSQL with PostGIS, redis-server,
//! pgbouncer, TiPg and openssl on this machine; martin is optional. Filesystems are made where possible;
//! elsewhere the reason is printed.

mod change;
mod copies;
mod managed;
mod meeting;
mod pgpool;
mod placement;
mod pooler;
mod programs;
mod redis;
mod replica;
mod settings;
mod silence;
mod standing;
mod storage;
mod support;
mod tile_server;
mod tls;
mod url;
