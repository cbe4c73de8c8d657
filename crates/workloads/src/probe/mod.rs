//! Probes: measure a database's hardware with SQL only.
//!
//! Each figure is a file in `sql/`: fixed work that is repeated, and a header that describes it (`figures`).
//! One runner (`work`) makes the data that the file needs, sends its statements, and stores the single shots.
//! The server's clock times them, so that only the round trip includes the network. `docs/how-to/host.md` explains
//! each query.
//!
//! The parts of a workload are the usual ones: options, check (what the role and the server allow), prepare
//! (scratch data in a separate schema), guard (each shot returns the one right result), job, and what it
//! records.

mod check;
mod facts;
mod figures;
mod job;
mod leftovers;
mod record;
mod remarks;
mod scratch;
mod shots;
mod spread;
mod together;
mod work;

pub use figures::{FIGURES, ProbeFigure};
pub use job::Probe;
pub use record::{FigureState, ProbeFact, Probed, ProbedFigure};
pub use spread::Spread;
