//! The pgdyno program: arguments, printing and exit codes. Everything else lives in the libraries beside it.

mod cli;
mod commands;
mod exit;
mod print;
mod progress;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = commands::watchdog() {
        return code;
    }
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    print::warn_of_secrets();
    exit::from(commands::run(cli))
}
