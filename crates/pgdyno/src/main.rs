//! The pgdyno program: arguments, printing and exit codes. Everything else lives in the libraries beside it.

mod commands;
mod exit;
mod options;
mod print;
mod progress;
mod secrets;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    heed_file_limits();
    if let Some(code) = commands::other_life() {
        return code;
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some((called, rest)) = commands::pgbench::arguments(&arguments) {
        return ExitCode::from(commands::pgbench::main(called, rest));
    }
    let cli = match commands::parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(error),
    };
    print::warn_of_secrets();
    exit::from(commands::run(cli))
}

/// A limit of the size of files (`ulimit -f`) is an error of the write that meets it, and is told as such, instead of the end
/// of the program without a word. Programs that are started handle it in their own way.
fn heed_file_limits() {
    // Without it all is as it was.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}
