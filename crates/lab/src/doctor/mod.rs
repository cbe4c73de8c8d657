//! Which prerequisites of commands this machine and a server meet: `pgdyno doctor`. Nothing is changed,
//! created or started.

mod programs;
mod server;
mod system;

pub use self::server::{Examined, Right, Usability, Use, examine};
pub use programs::{NeededProgram, install, programs};
pub use system::{Part, parts};
