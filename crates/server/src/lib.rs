//! Servers: found, made, started, configured, watched, stopped; with their hosts, the programs pgdyno starts,
//! the folders it owns, and control connections.
//!
//! The crate does not know experiments, loads or results.

pub mod build;
pub mod change;
pub mod child;
pub mod control;
pub mod home;
pub mod host;
pub mod http;
pub mod installed;
pub mod managed;
pub mod page_cache;
pub mod placement;
pub mod pooler;
pub mod redis;
pub mod replica;
pub mod settings;
pub mod sink;
pub mod source_build;
pub mod storage;
pub mod tile_server;
pub mod url;

mod error;
mod lock;
pub mod measuring;
pub mod meeting;
mod member;
mod secrets;
mod stop;
mod target;

pub use error::{conninfo_error, server_error, session_not_pooled, sql_error, statements_not_pooled};
pub use member::remove_dead_members;
pub use stop::{Stop, StopPhase};
pub use target::Target;
