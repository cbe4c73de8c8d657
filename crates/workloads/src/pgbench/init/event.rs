//! Events while the tables are made, and their messages.

use std::fmt;

use super::steps::InitStep;

/// An event. Its `Display` is the line that pgbench prints, or would print.
#[derive(Debug, Clone, PartialEq)]
pub enum InitEvent {
    Begun(InitStep),
    /// This many partitions are about to be made.
    Partitions(u32),
    /// A notice of the server as libpq prints it, maybe several lines.
    Notice(String),
    Progress(RowsProgress),
    /// All rows of a table (or of this stretch of it) are made; not printed.
    Filled,
    /// The connection was lost and is about to be reopened.
    Reconnecting {
        /// First line of the reason.
        reason: String,
        /// The next try, from 1.
        attempt: u32,
        /// Number of tries.
        attempts: u32,
        /// Pause before it, µs.
        wait_us: u64,
    },
    Done(Summary),
}

/// How far the rows of a table are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowsProgress {
    pub table: &'static str,
    /// Rows made, including those of an earlier run.
    pub done: u64,
    /// Rows it will have.
    pub total: u64,
    /// Time since the first row, s.
    pub elapsed_s: f64,
    /// Estimated time to the last row, s.
    pub remaining_s: f64,
}

/// Steps with their durations in s, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    pub steps: Vec<(InitStep, f64)>,
}

impl fmt::Display for InitEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun(step) => out.write_str(beginning(*step)),
            Self::Partitions(count) => write!(out, "creating {count} partitions..."),
            Self::Notice(text) => out.write_str(text),
            Self::Progress(progress) => progress.fmt(out),
            Self::Filled => Ok(()),
            Self::Reconnecting { reason, attempt, attempts, wait_us } => {
                let wait = *wait_us as f64 / 1e6;
                write!(
                    out,
                    "connection lost: {reason}; connecting again in {wait:.2} s (try {attempt} of {attempts})"
                )
            }
            Self::Done(summary) => summary.fmt(out),
        }
    }
}

fn beginning(step: InitStep) -> &'static str {
    match step {
        InitStep::Drop => "dropping old tables...",
        InitStep::CreateTables => "creating tables...",
        InitStep::Generate => "generating data (client-side)...",
        InitStep::GenerateOnServer => "generating data (server-side)...",
        InitStep::Vacuum => "vacuuming...",
        InitStep::PrimaryKeys => "creating primary keys...",
        InitStep::ForeignKeys => "creating foreign keys...",
    }
}

impl fmt::Display for RowsProgress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, done, total, elapsed_s, remaining_s } = self;
        let percent = (u128::from(*done) * 100).checked_div(u128::from(*total)).unwrap_or(100);
        write!(
            out,
            "{done} of {total} tuples ({percent}%) of {table} done (elapsed {elapsed_s:.2} s, remaining {remaining_s:.2} s)"
        )
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The sum of no values is -0.
        let total = self.steps.iter().fold(0.0, |total, (_, seconds)| total + seconds);
        write!(out, "done in {total:.2} s (")?;
        for (number, (step, seconds)) in self.steps.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(out, "{comma}{} {seconds:.2} s", step.name())?;
        }
        out.write_str(").")
    }
}

/// Receives events, in order.
pub trait Listener {
    fn event(&mut self, event: &InitEvent);
}

impl<F: FnMut(&InitEvent)> Listener for F {
    fn event(&mut self, event: &InitEvent) {
        self(event);
    }
}

/// Prints events as pgbench does: on a terminal progress stays on one line, which is wiped at its end.
#[derive(Debug)]
pub struct EventPrinter {
    terminal: bool,
    /// Length of the progress on the current line, characters.
    shown_length: usize,
}

impl EventPrinter {
    /// A voice for a terminal, or for a file.
    #[must_use]
    pub fn new(terminal: bool) -> Self {
        Self { terminal, shown_length: 0 }
    }

    /// What to print for an event; may be empty.
    pub fn say(&mut self, event: &InitEvent) -> String {
        let text = event.to_string();
        match event {
            InitEvent::Progress(_) => {
                let length = text.chars().count();
                // Overwrite what is left of a longer line, even in a file.
                let blanks = " ".repeat(self.shown_length.saturating_sub(length));
                self.shown_length = length;
                format!("{text}{blanks}{}", if self.terminal { '\r' } else { '\n' })
            }
            InitEvent::Filled => self.wipe(),
            _ => format!("{}{text}\n", self.wipe()),
        }
    }

    /// What to print before anything else.
    pub fn wipe(&mut self) -> String {
        match std::mem::take(&mut self.shown_length) {
            0 => String::new(),
            _ if !self.terminal => String::new(),
            shown_length => format!("{}\r", " ".repeat(shown_length)),
        }
    }
}
