//! What jobs share: phases, relation sizes, and running a child program.

mod child;
mod phase;
mod relations;

pub use child::{ChildEnd, ChildOrder, Output, RunChild};
pub use phase::{JobPhase, JobReport, PhaseTimer};
pub use relations::{RelationSize, relation_sizes};
