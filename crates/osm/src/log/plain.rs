//! The log of osm2pgsql up to 1.3: no time stamps, durations in whole seconds.

use super::line::LogLine;
use super::{MOST_PHASES, reported, without_overlap};
use spec::Phase;

#[derive(Debug, Default)]
pub(super) struct Plain {
    reading: Vec<Phase>,
    others: Vec<Phase>,
    pending_ways: Option<u64>,
}

impl Plain {
    pub(super) fn line(&mut self, at_us: u64, line: &LogLine<'_>) {
        if self.others.len() > MOST_PHASES {
            return;
        }
        if let Some((name, count)) = object_stats(line) {
            self.reading.retain(|phase| phase.name != name);
            if let Some(seconds) = line.number_after(" in ") {
                self.reading.push(reported(name, "", at_us, micros(seconds), count));
                without_overlap(&mut self.reading, at_us);
            }
        } else if let Some((name, table)) = table_end(line) {
            if let Some(seconds) = line.number_after(" in ") {
                self.others.push(reported(name, table, at_us, micros(seconds), None));
            }
        } else if let Some((count, _)) = line.text.split_once(" ways are pending") {
            self.pending_ways = count.trim().parse().ok();
        } else if line.text.starts_with("Finished processing ")
            && let Some(seconds) = line.number_after(" ways in ")
        {
            let count = line.number_after("Finished processing ").or(self.pending_ways);
            self.others.push(reported("pending ways", "", at_us, micros(seconds), count));
        }
    }

    pub(super) fn finish(self) -> Vec<Phase> {
        let mut phases = self.reading;
        phases.extend(self.others);
        phases
    }
}

/// `Node stats: total(12), max(34) in 27s`.
fn object_stats(line: &LogLine<'_>) -> Option<(&'static str, Option<u64>)> {
    let name = match line.text.split_once(" stats: ")?.0 {
        "Node" => "node",
        "Way" => "way",
        "Relation" => "relation",
        _ => return None,
    };
    Some((name, line.number_after("total(")))
}

/// `All indexes on T created in 9s` (with clustering and analyzing), `Stopped table: T in 66s`.
fn table_end<'a>(line: &LogLine<'a>) -> Option<(&'static str, &'a str)> {
    if let Some(rest) = line.text.strip_prefix("All indexes on ") {
        return rest.split_once(" created in ").map(|(table, _)| ("table", table));
    }
    let rest = line.text.strip_prefix("Stopped table: ")?;
    rest.split_once(" in ").map(|(table, _)| ("table", table))
}

fn micros(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000_000)
}
