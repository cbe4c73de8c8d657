//! Probes: what a database's hardware is worth, with nothing but SQL.
//!
//! Each part is a query of fixed cost, asked again and again; what is kept are its single shots. The server times
//! them by its own clock, so that the network is in none of them but the round trip. `docs/probe.md` says of each query why it
//! measures what it says.
//!
//! The parts of a workload, as of any: options, check (what the role and the server allow), prepare (scratch data in
//! a schema of its own), guard (each shot gives the one right result), job, and what it records.

mod check;
mod facts;
mod figures;
mod job;
mod leftovers;
mod options;
mod parts;
mod record;
mod remarks;
mod scratch;
mod shots;
mod spread;
mod together;

pub use figures::{Better, FIGURES, Figure, Unit, figure};
pub use job::Probe;
pub use options::Options;
pub use record::{Fact, Found, Probed, State};
pub use spread::Spread;
