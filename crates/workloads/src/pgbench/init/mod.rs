//! pgbench's `-i`: makes and fills its four tables, each step timed.
//!
//! Steps, tables, rows and messages are pgbench's (version 18). Without a bound of its own: a table of scale 1000 has
//! 100 million rows.

mod generate;
mod options;
mod tables;

use std::fmt::Write;

pub use options::{InitOptions, PartitionMethod, Step, parse_steps};

use crate::error::WorkloadError;
use crate::jobs::{JobReport, PhaseTimer};
use crate::sql::Sql;

/// Accounts for each unit of scale.
const ACCOUNTS: u64 = 100_000;
/// Tellers for each unit of scale.
const TELLERS: u64 = 10;

/// Makes and fills pgbench's tables.
///
/// `clock` gives µs on the monotonic clock; `say` is handed pgbench's messages, a line each.
///
/// # Errors
/// When options are out of range or the server refuses a step.
pub fn initialize(
    sql: &mut dyn Sql,
    options: &InitOptions,
    clock: &mut dyn FnMut() -> u64,
    say: &mut dyn FnMut(&str),
) -> Result<JobReport, WorkloadError> {
    options.validate()?;
    let mut timer = PhaseTimer::new(clock);
    let mut summary = String::new();
    for step in options.all_steps() {
        let start_us = timer.now_us();
        let count = step.run(sql, options, &mut timer, say)?;
        let name = step.name();
        let duration_us = timer.end(name, "", start_us, count);
        let comma = if summary.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(summary, "{comma}{name} {:.2} s", duration_us as f64 / 1e6);
    }
    let report = timer.finish();
    say(&format!("done in {:.2} s ({summary}).", report.elapsed_us as f64 / 1e6));
    Ok(report)
}

impl Step {
    /// Runs the step; gives the rows it made, where it makes rows.
    fn run(
        self,
        sql: &mut dyn Sql,
        options: &InitOptions,
        timer: &mut PhaseTimer<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<u64>, WorkloadError> {
        match self {
            Self::Drop => {
                say("dropping old tables...");
                statement(sql, tables::DROP)?;
            }
            Self::CreateTables => {
                say("creating tables...");
                if options.partitions > 0 {
                    say(&format!("creating {} partitions...", options.partitions));
                }
                for text in tables::create(options) {
                    statement(sql, &text)?;
                }
            }
            Self::Generate => {
                say("generating data (client-side)...");
                return generate::client_side(sql, options, timer, say).map(Some);
            }
            Self::GenerateOnServer => {
                say("generating data (server-side)...");
                return generate::server_side(sql, options).map(Some);
            }
            Self::Vacuum => {
                say("vacuuming...");
                for text in tables::VACUUM {
                    statement(sql, text)?;
                }
            }
            Self::PrimaryKeys => {
                say("creating primary keys...");
                for text in tables::primary_keys(options) {
                    statement(sql, &text)?;
                }
            }
            Self::ForeignKeys => {
                say("creating foreign keys...");
                for text in tables::FOREIGN_KEYS {
                    statement(sql, text)?;
                }
            }
        }
        Ok(None)
    }
}

/// Runs one statement; an error names it.
fn statement(sql: &mut dyn Sql, text: &str) -> Result<(), WorkloadError> {
    sql.execute(text).map_err(WorkloadError::sql(format!("running \"{text}\"")))
}

#[cfg(test)]
mod tests;
