//! The plan of an experiment, as plain data: what is measured, in which order, and the decisions made for it.

mod arm_placement;
pub mod change;
mod content;
mod cpus;
mod decision;
mod expanded;
mod facts;
mod former;
mod generator;
mod measure;
mod named;
mod placement;
pub mod pooler;
mod probe;
mod recorded;
mod run;
mod slicing;
pub mod storage;
mod target;
pub mod tile_server;
pub mod topology;
mod workload;

pub use arm_placement::{ArmPlacement, Copies};
pub use content::{Arm, Beside, CACHE, Content, PlannedCalibration, SETTINGS, STORAGE, TOPOLOGY, VERSION};
pub use cpus::Cpus;
pub use decision::{Decision, DecisionRow, Decisions, Needed, NotRun};
pub use expanded::{CHECK_TIME, PLACEMENT, Plan};
pub use facts::{Availability, Fact, Facts, PlacementAdvice, TransactionLengths};
pub use former::of_former;
pub use generator::{AskedDriver, Generator, Waiting};
pub use measure::{
    AskedCounting, CellOrder, OrderScheme, PlannedComparison, PlannedLoad, PlannedMeasure, PlannedUsers,
    Scheme, Slices, WorkMetric,
};
pub use named::{ByHand, Named};
pub use placement::{ChosenPlacement, CpuQuota, Placement};
pub use probe::ProbeOptions;
pub use recorded::Recorded;
pub use run::{PlannedRun, SHOWN_APART};
pub use slicing::Slicing;
pub use target::{Build, BuildSource, TargetSpec, UrlReplica};
pub use workload::{PlannedPreparation, PlannedWorkload, WorkloadOptions};
