//! Redis commands: SET and GET of values over a range of keys, as in a cache next to a tile server.
//!
//! A transaction is a pipeline of commands of one kind, mostly of one command; it ends with the last reply.
//! GETs count as queries, values found as rows, SETs as changes, written values as rows affected. An error or
//! a value of another size fails the whole pipeline. A missing value fails it too, unless keys may expire or
//! be evicted: then it is a miss.

mod client;
mod guard;
mod keys;
pub(crate) mod limits;
mod options;
mod prepare;
mod scripts;
mod sizes;
#[cfg(test)]
mod tests;
mod wire;
mod workload;

pub use guard::number_of_keys;
pub use limits::{Eviction, Memory};
pub use options::{Distribution, RedisCommand, RedisOptions};
pub use sizes::ValueSizes;
pub use workload::Redis;
