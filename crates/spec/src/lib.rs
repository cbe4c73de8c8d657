//! Plain data: the plan of an experiment, its runs, and their results.
//!
//! Written by `lab` and by `results` (imports), stored by `results`, read by `report`. Derived values are
//! here if every reader must compute them alike.

mod age;
mod answers;
mod arrivals;
pub mod build_options;
mod derived;
mod error;
pub mod experiment;
mod experiment_record;
mod explained;
pub mod figures;
mod file_command;
#[cfg(test)]
mod fixture;
mod gate;
pub mod given;
mod job;
mod judgement;
mod limit;
mod map;
mod outage;
mod part;
pub mod plan;
mod prices;
mod profile;
mod promise;
mod quads;
mod run;
mod sample;
pub mod shell;
mod slice;
mod surroundings;
mod term;
mod text;
mod trend;
pub mod users;
mod verdict;
pub mod visible;
mod words;
pub mod written;

pub use age::{AgePoint, AgingQuantity};
pub use answers::{
    AnswerDifference, ColumnDifference, ColumnError, MapDifference, MapZooms, PictureDifference,
};
pub use arrivals::{Arrivals, KEPT_UP, Offer};
pub use error::{Class, Error, advice_on_sqlstate, is_disk_full, is_of_shared_memory};
pub use experiment_record::{ArmRecord, ControlArm, ExperimentRecord};
pub use explained::{
    FunctionTime, LayerTime, LayerTimeSource, OUTSIDE_LAYERS, PlanNode, StatementPart, StatementPlan,
};
pub use figures::Counts;
pub use file_command::{ExecutedBy, FileCommand};
pub use gate::GateRecord;
pub use job::{Phase, PhaseSource, Relation, RelationKind};
pub use judgement::Judgement;
pub use limit::{AskedLimit, JudgedTrial};
pub use map::{MapPart, TileFigures, TileProbe, TileSample, same_layers};
pub use outage::Outage;
pub use part::{ExperimentPart, MOST_PARTS, RunPart, is_part};
pub use plan::OrderScheme;
pub use prices::{Price, Prices};
pub use profile::{Piece, Profile, ProfileError};
pub use promise::Promise;
pub use run::{Artifact, OfferedLoad, Run, RunEvent, RunKey, RunKeyRef, RunKind, ScriptRecord, SeriesPoint};
pub use sample::{BACKENDS, PRIVATE_BYTES, REPLICA, Sample, Scope, WAITS, WAITS_UNIT};
pub use slice::Slice;
pub use surroundings::{BuildRecord, Host, MeasuredTarget, Setting};
pub use term::{Term, TermResult};
pub use text::{Text, TextKind};
pub use trend::{SpeedTrend, changes_data};
pub use verdict::{Doubt, MOST_CRASHES, Reason, Validity};
pub use words::{bytes, bytes_of, count, hex, short_sql};
