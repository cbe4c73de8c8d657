//! What happens while the tables are made, and how it is put in words.

use std::fmt;

use super::steps::Step;

/// One thing that happened. Its `Display` is the line that pgbench prints, or would.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Begun(Step),
    /// So many partitions are about to be made.
    Partitions(u32),
    /// The server remarked something; its text as libpq prints it, maybe several lines.
    Notice(String),
    /// Rows were made.
    Progress(Progress),
    /// All rows of a table (or of this stretch of it) are made; nothing to print by itself.
    Filled,
    /// The connection was lost and is about to be made again.
    Reconnecting {
        /// What was seen, first line.
        reason: String,
        /// Which try comes now, from 1.
        attempt: u32,
        /// How many there are.
        attempts: u32,
        /// How long is waited before it, µs.
        wait_us: u64,
    },
    Done(Summary),
}

/// How far the rows of a table are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    pub table: &'static str,
    /// Rows made, those an earlier run left among them.
    pub done: u64,
    /// Rows it will have.
    pub total: u64,
    /// Time since the first row, s.
    pub elapsed_s: f64,
    /// Time to the last row if all goes on as it went, s.
    pub remaining_s: f64,
}

/// Steps with their durations in s, in the order they were done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    pub steps: Vec<(Step, f64)>,
}

impl fmt::Display for Event {
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

fn beginning(step: Step) -> &'static str {
    match step {
        Step::Drop => "dropping old tables...",
        Step::CreateTables => "creating tables...",
        Step::Generate => "generating data (client-side)...",
        Step::GenerateOnServer => "generating data (server-side)...",
        Step::Vacuum => "vacuuming...",
        Step::PrimaryKeys => "creating primary keys...",
        Step::ForeignKeys => "creating foreign keys...",
    }
}

impl fmt::Display for Progress {
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
        // The sum of nothing is -0.
        let total = self.steps.iter().fold(0.0, |total, (_, seconds)| total + seconds);
        write!(out, "done in {total:.2} s (")?;
        for (number, (step, seconds)) in self.steps.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(out, "{comma}{} {seconds:.2} s", step.name())?;
        }
        out.write_str(").")
    }
}

/// Told what happens, in order.
pub trait Listener {
    /// One thing happened.
    fn event(&mut self, event: &Event);
}

impl<F: FnMut(&Event)> Listener for F {
    fn event(&mut self, event: &Event) {
        self(event);
    }
}

/// Puts events on a screen as pgbench does: on a terminal progress stays on one line, which is wiped at its end.
#[derive(Debug)]
pub struct Voice {
    terminal: bool,
    /// Characters of the progress that stands on the current line.
    standing: usize,
}

impl Voice {
    /// A voice for a terminal, or for a file.
    #[must_use]
    pub fn new(terminal: bool) -> Self {
        Self { terminal, standing: 0 }
    }

    /// What to write for an event; empty for nothing.
    pub fn say(&mut self, event: &Event) -> String {
        let text = event.to_string();
        match event {
            Event::Progress(_) => {
                let length = text.chars().count();
                // What is left of a longer line is overwritten, on paper too.
                let blanks = " ".repeat(self.standing.saturating_sub(length));
                self.standing = length;
                format!("{text}{blanks}{}", if self.terminal { '\r' } else { '\n' })
            }
            Event::Filled => self.wipe(),
            _ => format!("{}{text}\n", self.wipe()),
        }
    }

    /// What to write before anything else is written.
    pub fn wipe(&mut self) -> String {
        match std::mem::take(&mut self.standing) {
            0 => String::new(),
            _ if !self.terminal => String::new(),
            standing => format!("{}\r", " ".repeat(standing)),
        }
    }
}
