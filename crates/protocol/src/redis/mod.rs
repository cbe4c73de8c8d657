//! RESP2, the protocol of Redis and its kin: commands out, replies in.

mod command;
mod reply;

pub use command::command;
pub use reply::{Array, Broken, Replies, Reply, Skipped, Want};
