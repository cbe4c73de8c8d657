//! Probes: what a database's hardware is worth, with nothing but SQL.
//!
//! Each figure is a file in `sql/`: fixed work that is done again and again, and a header that says what it is (`figures`). One
//! runner (`work`) makes the data that the file asks for, sends its statements, and keeps the single shots. The server times
//! them by its own clock, so that the network is in none of them but the round trip. `docs/probe.md` says of each query why it
//! measures what it says.
//!
//! The parts of a workload, as of any: options, check (what the role and the server allow), prepare (scratch data in
//! its own schema), guard (each shot gives the one right result), job, and what it records.

mod check;
mod facts;
mod figures;
mod job;
mod leftovers;
mod options;
mod record;
mod remarks;
mod scratch;
mod shots;
mod spread;
mod together;
mod work;

pub use figures::{FIGURES, Figure};
pub use job::Probe;
pub use options::Options;
pub use record::{Fact, Found, Probed, State};
pub use spread::Spread;
