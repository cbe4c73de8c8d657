//! What a drop-in for pgbench needs beside the workload: shell commands, and a run as pgbench counts it, which does nothing
//! that pgbench does not do unless it is to be stored.

mod shell;
mod stored;

pub use shell::ShellRunner;
pub use stored::Recorder;
