//! Wire protocols of the servers pgdyno drives: PostgreSQL, Redis and HTTP.
//!
//! Everything here turns bytes into messages and messages into bytes. There is no socket, no clock and no thread:
//! the caller moves the bytes, hands in what arrived as a slice with an index, and sends what was appended to a
//! `Vec<u8>`. The only files read are those that libpq's connection rules name (passfile, service file,
//! certificates), and only when a connection is being described, never while one is in use.

mod address;
mod credentials;
pub mod http;
pub mod limits;
mod nearest;
mod percent;
pub mod postgres;
pub mod redis;
pub mod wording;

pub use address::Address;
pub use credentials::without_credentials;
pub use nearest::nearest;
pub use percent::percent_encoded;
