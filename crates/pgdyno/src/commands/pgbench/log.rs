//! `-l`: a file per thread, with pgbench's names and lines.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use ::report::pgbench::{Aggregates, LogFormat, LoggedTransaction, TransactionEnd};
use engine::{EntryEnd, Failure, Time, TransactionEntry};
use script::Random;

use super::args::LogFiles;

/// Buffer size, bytes.
const GATHERED: usize = 64 << 10;

pub(super) struct Log {
    threads: Vec<ThreadLog>,
    format: LogFormat,
    sampling: Option<f64>,
    aggregate: Option<u32>,
    /// Transactions of each client so far.
    numbers: Vec<u64>,
    /// Wall clock at time 0 of the run, µs since 1970.
    epoch_us: i64,
}

struct ThreadLog {
    path: PathBuf,
    file: File,
    text: String,
    aggregates: Option<Aggregates>,
    sample: Random,
    /// The first error; nothing is written after it.
    problem: Option<io::Error>,
}

impl Log {
    /// Creates the files; `samples` has a random stream for each thread. Errors have pgbench's words.
    pub(super) fn create(
        files: &LogFiles,
        format: LogFormat,
        clients: usize,
        samples: Vec<Random>,
    ) -> Result<Self, String> {
        let pid = std::process::id();
        let open = |(thread, sample): (usize, Random)| {
            let prefix = &files.prefix;
            let path = match thread {
                0 => format!("{prefix}.{pid}"),
                _ => format!("{prefix}.{pid}.{thread}"),
            };
            let file = create(&path).map_err(|error| {
                let text = error.to_string();
                let reason = text.split(" (os error").next().unwrap_or(&text);
                format!("could not open logfile \"{path}\": {reason}")
            })?;
            let path = PathBuf::from(path);
            Ok(ThreadLog { path, file, text: String::new(), aggregates: None, sample, problem: None })
        };
        Ok(Self {
            threads: samples.into_iter().enumerate().map(open).collect::<Result<_, String>>()?,
            format,
            sampling: files.sampling,
            aggregate: files.aggregate,
            numbers: vec![0; clients],
            epoch_us: 0,
        })
    }

    pub(super) fn began(&mut self, epoch_us: i64) {
        self.epoch_us = epoch_us;
    }

    /// The load starts now, µs since 1970: intervals count from here.
    pub(super) fn loading(&mut self, now_us: i64) {
        let Some(seconds) = self.aggregate else { return };
        for thread in &mut self.threads {
            thread.aggregates = Some(Aggregates::new(seconds, now_us, self.format));
        }
    }

    pub(super) fn transactions(&mut self, thread: usize, entries: &[TransactionEntry]) {
        let Some(log) = self.threads.get_mut(thread) else { return };
        for entry in entries {
            let number = &mut self.numbers[entry.client as usize];
            *number += 1;
            if self.sampling.is_some_and(|rate| log.sample.unit() > rate) {
                continue;
            }
            let transaction = transaction(entry, *number, self.epoch_us);
            match &mut log.aggregates {
                Some(aggregates) => aggregates.add(&transaction, &mut log.text),
                None => transaction.append(&self.format, &mut log.text),
            }
        }
        if log.text.len() >= GATHERED {
            log.write();
        }
    }

    /// Writes the buffers each second, so that readers see current lines.
    pub(super) fn flush(&mut self) {
        self.threads.iter_mut().for_each(ThreadLog::write);
    }

    /// Writes the rest, including the last interval. Returns the first file that could not be written
    /// completely as an error.
    pub(super) fn finish(mut self) -> Result<(), String> {
        for log in &mut self.threads {
            if let Some(aggregates) = &mut log.aggregates {
                aggregates.finish(&mut log.text);
            }
            log.write();
            if let Some(problem) = &log.problem {
                return Err(format!("could not write to logfile \"{}\": {problem}", log.path.display()));
            }
        }
        Ok(())
    }
}

impl ThreadLog {
    fn write(&mut self) {
        if self.problem.is_none()
            && let Err(error) = self.file.write_all(self.text.as_bytes())
        {
            self.problem = Some(error);
        }
        self.text.clear();
    }
}

fn transaction(entry: &TransactionEntry, number: u64, epoch_us: i64) -> LoggedTransaction {
    let us = |time: Time| time / 1000;
    let processed = entry.end == EntryEnd::Succeeded;
    LoggedTransaction {
        client: entry.client as usize,
        number,
        end: match entry.end {
            EntryEnd::Succeeded => {
                TransactionEnd::Processed { latency_us: us(entry.ended.saturating_sub(entry.due)) }
            }
            EntryEnd::Skipped => TransactionEnd::Skipped,
            EntryEnd::Failed(Failure::Serialization) => TransactionEnd::Serialization,
            EntryEnd::Failed(Failure::Deadlock) => TransactionEnd::Deadlock,
            EntryEnd::Failed(Failure::Other) => TransactionEnd::Other,
        },
        script: usize::from(entry.script),
        wall_us: epoch_us + us(entry.ended) as i64,
        lag_us: if processed { us(entry.started.saturating_sub(entry.due)) } else { 0 },
        retries: entry.tries.saturating_sub(1),
    }
}

/// Refuses links, pipes and files of other users, who may have guessed the name.
fn create(path: &str) -> std::io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().write(true).create(true).truncate(false).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(std::io::Error::new(ErrorKind::PermissionDenied, "it is not a file of this user"));
    }
    file.set_len(0)?;
    Ok(file)
}
