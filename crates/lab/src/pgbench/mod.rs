//! What a drop-in for pgbench needs beside the workload: connections by libpq's rules and in libpq's words, a run as
//! pgbench counts it, shell commands, and a place in a results file if that is wanted.

mod book;
mod init;
mod measure;
mod shell;

pub use book::{Book, Entry};
pub use init::initialize;
pub use measure::{LoadOptions, NotStarted, measure};
pub use shell::ShellRunner;
