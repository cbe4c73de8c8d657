//! The plan of an experiment, as plain data: what is measured, in which order, and what was decided for it.

pub mod change;
mod cpus;
pub mod pooler;
pub mod storage;
pub mod tile_server;

pub use cpus::Cpus;
