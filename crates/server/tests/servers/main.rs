//! End-to-end: real private servers under real watchdogs. They need PostgreSQL with PostGIS,
//! redis-server, pgbouncer, TiPg and openssl on this machine; martin only where it is there. Filesystems are made where that can be done; elsewhere it is said why not.

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
mod tile_server;
mod tls;
mod url;
