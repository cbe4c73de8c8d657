//! Which lines of a file belong to which load.

use super::command::CommandLine;
use super::docker;
use super::ended;
use super::open::{LoggedLoad, OpenLoad};
use super::stamp::stamped;
use super::stream::Stream;
use super::words::{self, begins_without_version, first_words_at};
use crate::import::moment::Moment;

/// With more loads a file is not a log.
const MOST_LOADS: usize = 10_000;
/// Programs that write into one log at the same time, at most.
const MOST_AT_ONCE: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Reader {
    command: Option<CommandLine>,
    unfinished: String,
    /// Open loads; several if each has another stream.
    open: Vec<OpenLoad>,
    done: Vec<LoggedLoad>,
}

impl Reader {
    /// Takes a line, or a piece of one.
    ///
    /// # Errors
    /// Why the file is not osm2pgsql's.
    pub(super) fn take(&mut self, number: u64, line: &str) -> Result<(), String> {
        match docker::line(line) {
            Some((inside, moment)) => {
                inside.split(['\r', '\n']).try_for_each(|piece| self.piece(number, piece.trim_end(), moment))
            }
            None => self.piece(number, line.trim_end(), None),
        }
    }

    fn piece(&mut self, number: u64, line: &str, kept: Option<Moment>) -> Result<(), String> {
        let line = line.trim_start_matches('\u{feff}');
        if line.is_empty() {
            return Ok(());
        }
        if line.trim_start().starts_with("transaction type: ") {
            return Err(
                "a report of pgbench among logs of osm2pgsql: give each in a separate file".to_owned()
            );
        }
        self.begin(number, line)?;
        let own = stamped(line);
        if own.is_none() && self.is_command(line) {
            return Ok(());
        }
        if let Some(open) = self.of_line(line, own) {
            open.take(line, own, kept);
        }
        Ok(())
    }

    /// Opens a load if the line is the first of one.
    fn begin(&mut self, number: u64, line: &str) -> Result<(), String> {
        let first = first_words_at(line);
        let is_first = self.open.is_empty() && self.done.is_empty();
        let own = stamped(line);
        let begins =
            || if is_first || self.is_of_another(line, own) { words::of_a_part_at(line) } else { None };
        let Some(at) = first.or_else(begins) else { return Ok(()) };
        let is_start = first.is_some() || begins_without_version(&line[at..]);
        let prefix = &line[..own.map_or(at, |own| line.len() - own.len())];
        let stream = Stream::of(prefix);
        let (goes_on, closed): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open).into_iter().partition(|open| !open.ended && open.stream != stream);
        self.open = goes_on;
        closed.into_iter().try_for_each(|open| self.close(open))?;
        if self.open.len() >= MOST_AT_ONCE {
            return Err("too many loads at the same time for a log of osm2pgsql".to_owned());
        }
        self.open.push(OpenLoad::new(number, is_start, prefix, self.command.take()));
        Ok(())
    }

    /// Whether osm2pgsql wrote a line in a container of which no load is open.
    fn is_of_another(&self, line: &str, own: Option<&str>) -> bool {
        let Some(own) = own else { return false };
        let stream = Stream::of(&line[..line.len() - own.len()]);
        let named = self.open.iter().filter(|open| open.stream.container().is_some());
        stream.container().is_some()
            && named.clone().count() > 0
            && named.clone().all(|open| open.stream != stream)
    }

    /// The load that a line belongs to.
    fn of_line(&mut self, line: &str, own: Option<&str>) -> Option<&mut OpenLoad> {
        if self.open.len() <= 1 {
            return self.open.first_mut();
        }
        if let Some(own) = own {
            let stream = Stream::of(&line[..line.len() - own.len()]);
            return self.open.iter_mut().rev().find(|open| open.stream == stream);
        }
        let begun = self.open.iter_mut().filter_map(|open| Some((open.stream.begins(line)?, open)));
        begun.max_by_key(|(length, _)| *length).map(|(_, open)| open)
    }

    pub(super) fn finish(mut self) -> Result<Vec<LoggedLoad>, String> {
        std::mem::take(&mut self.open).into_iter().try_for_each(|open| self.close(open))?;
        self.done.sort_by_key(|load| load.line);
        Ok(self.done)
    }

    /// Whether a line is a command, or a part of one; it is kept for the next load, or belongs to the load
    /// before it.
    fn is_command(&mut self, line: &str) -> bool {
        if let Some(begun) = line.strip_suffix('\\')
            && (line.contains("osm2pgsql") || !self.unfinished.is_empty())
            && self.unfinished.len() < 64 * 1024
        {
            self.unfinished.push_str(begun);
            return true;
        }
        let whole = std::mem::take(&mut self.unfinished) + line;
        let Some(command) = CommandLine::of(&whole) else { return false };
        match self.open.last_mut() {
            Some(open) if ended::how(line, None).is_some() => {
                open.take(line, None, None);
                open.load.command.get_or_insert(command);
            }
            Some(open) if line.trim_start().starts_with("Command being timed: ") => {
                open.load.command.get_or_insert(command);
            }
            _ => self.command = Some(command),
        }
        true
    }

    fn close(&mut self, open: OpenLoad) -> Result<(), String> {
        if open.works {
            if self.done.len() >= MOST_LOADS {
                return Err("too many loads for a log of osm2pgsql".to_owned());
            }
            if let Some(other) = self.done.last().filter(|other| open.is_mixed_with(other)) {
                return Err(format!(
                    "the loads that begin in lines {} and {} ran at the same time, and nothing tells their lines apart: \
                     give the log of each in a separate file",
                    other.line, open.load.line
                ));
            }
            self.done.push(open.finish());
        } else if self.command.is_none() {
            // `osm2pgsql --version` before a load.
            self.command = open.load.command;
        }
        Ok(())
    }
}
