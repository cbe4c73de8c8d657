//! What this machine and a server have of what commands need: `pgdyno doctor`. Nothing is changed, made or started.

mod programs;
mod server;
mod system;

pub use self::server::{Doubt, Examined, Right, Use, examine};
pub use programs::{Program, install, programs};
pub use system::{Part, parts};
