//! The pgdyno program: arguments, printing and exit codes. Everything else lives in the libraries beside it.

mod commands;
mod exit;
mod options;
mod print;
mod progress;
mod secrets;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
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
