//! The pgdyno program: arguments, printing and exit codes. All other code is in the library crates.

mod commands;
mod exit;
mod options;
mod print;
mod progress;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use protocol::limits::{MAX_ANSWER, set_max_answer};

/// Smallest and largest limit for answers; PostgreSQL sends no message above 1 GB.
const LEAST_ANSWER: usize = 1 << 20;
const MOST_ANSWER: usize = 1 << 30;

fn main() -> ExitCode {
    heed_file_limits();
    server::child::core_dump::turn_off();
    protocol::postgres::on_unencrypted_password(print::warning_once);
    if let Err(code) = read_answer_limit() {
        return code;
    }
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
    commands::warn_of_passwords();
    exit::from(commands::run(cli))
}

/// Sets the limit for answers of servers from the environment.
fn read_answer_limit() -> Result<(), ExitCode> {
    let Some(text) = std::env::var_os(MAX_ANSWER) else { return Ok(()) };
    let bytes = text.to_str().and_then(spec::bytes_of).and_then(|bytes| usize::try_from(bytes).ok());
    match bytes.filter(|bytes| (LEAST_ANSWER..=MOST_ANSWER).contains(bytes)) {
        Some(bytes) => {
            set_max_answer(bytes);
            Ok(())
        }
        None => {
            print::print_error(
                &format!("{MAX_ANSWER}={text:?}: must be a size from 1MB to 1GB, such as 256MB"),
                None,
            );
            Err(ExitCode::from(exit::USAGE))
        }
    }
}

/// Turns SIGXFSZ, sent at the limit of file size (`ulimit -f`), into a write error, which is reported. By
/// default it would end the program silently. Started programs have the default again.
fn heed_file_limits() {
    // On failure the default stays.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}
