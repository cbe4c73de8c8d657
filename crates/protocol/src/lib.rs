//! Wire protocols of the servers pgdyno drives: PostgreSQL, Redis and HTTP.
//!
//! The crate converts bytes to messages and messages to bytes, without a socket, clock or thread. The caller
//! moves the bytes: it passes in what arrived as a slice with an index, and sends what was appended to a
//! `Vec<u8>`. The only files read are those which libpq's connection rules name (passfile, service file,
//! certificates), and only while a connection is described.

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
