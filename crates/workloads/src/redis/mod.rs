//! Redis commands: SET and GET of values of one size over a range of keys, the cache beside a tile server.
//!
//! A transaction is one command. Its rows are 1, its bytes those of the value read (0 for SET, which changes a row
//! instead). A reply that is an error, no value, or a value of another size counts as a failure.

mod client;
mod guard;
mod keys;
mod options;
mod prepare;
#[cfg(test)]
mod tests;
mod workload;

pub use options::{Command, Options};
pub use workload::Redis;
