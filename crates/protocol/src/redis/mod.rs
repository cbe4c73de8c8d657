//! RESP2, the protocol of Redis and its kin: commands out, replies in.

mod command;
mod control;
mod info;
mod reply;

pub use command::command;
pub use control::{Answer, Control, ControlError};
pub use info::{Info, Limits};
pub use reply::{Array, Broken, Replies, Reply, Skipped, Want};
