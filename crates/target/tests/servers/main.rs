//! End-to-end: real private servers under real watchdogs. They need PostgreSQL, redis-server and openssl on this machine.

mod managed;
mod programs;
mod redis;
mod settings;
mod silence;
mod support;
mod tls;
mod url;
