//! Needs of a pgbench drop-in besides the workload: shell commands, and a run with pgbench's counting rules.
//! It does only what pgbench does, unless the run is to be stored.

mod shell;
mod stored;

pub use shell::ShellRunner;
pub use stored::Recorder;
