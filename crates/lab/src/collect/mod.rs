//! Counters before and after a run. Shared statistics are never reset: two snapshots are subtracted.

mod counters;
mod probe;
mod settle;

pub(crate) use counters::Counters;
pub(crate) use probe::probe_ms;
pub(crate) use settle::{await_clients_gone, settle};
