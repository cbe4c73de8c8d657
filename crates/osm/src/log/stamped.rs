//! The log of osm2pgsql from 1.4 on: time stamps, and with `--log-level=debug` thread numbers and
//! milliseconds.
//!
//! Reading: nodes, ways and relations follow one another. With `--log-sql` the middle's `ANALYZE` of its
//! node, way and relation tables marks where one ends and the next begins; otherwise osm2pgsql's whole
//! seconds are used. Tables: each is clustered, indexed and analyzed by one thread while others work on other
//! tables. Every step ends where the next step of the same table begins, the last one at the thread's `Done
//! task in Nms`.

use std::collections::{BTreeMap, BTreeSet};

use super::line::LogLine;
use super::{MOST_PHASES, reported, stamped_phase, without_overlap};
use spec::Phase;

#[derive(Debug, Default)]
pub(super) struct Stamped {
    phases: Vec<Phase>,
    reading: Reading,
    tables: BTreeMap<String, OpenStep>,
    threads: BTreeMap<u32, Task>,
    timed_tables: BTreeSet<String>,
    flushing_since: Option<u64>,
}

#[derive(Debug)]
struct OpenStep {
    name: &'static str,
    item: String,
    start_us: u64,
}

/// The current step of a thread.
#[derive(Debug, Default)]
struct Task {
    start_us: u64,
    table: Option<String>,
}

impl Stamped {
    pub(super) fn line(&mut self, at_us: u64, line: &LogLine<'_>) {
        self.reading.line(at_us, line);
        if self.phases.len() + self.tables.len() + self.threads.len() > MOST_PHASES {
            return;
        }
        if line.text.starts_with("Processed ") && self.reading.last_us == Some(at_us) {
            self.flushing_since = Some(at_us);
        }
        if line.text == "Starting task..." {
            self.end_flush(at_us);
            self.threads.insert(line.thread.unwrap_or(0), Task { start_us: at_us, table: None });
        } else if let Some(step) = parse_step(line) {
            self.end_flush(at_us);
            self.begin(at_us, line.thread, step);
        } else if let Some(milliseconds) = line.number_after("Done task in ") {
            self.end_task(at_us, line.thread, milliseconds.saturating_mul(1000));
        } else if let Some((table, seconds)) = whole_table(line) {
            self.end_table(at_us, table, seconds.saturating_mul(1_000_000));
        } else if line.text.starts_with("Processing ")
            && let Some(seconds) = line.number_after(" pending ways took ")
        {
            let count = line.number_after("Processing ");
            self.phases.push(reported("pending ways", "", at_us, seconds.saturating_mul(1_000_000), count));
        }
    }

    pub(super) fn finish(mut self, end_us: u64) -> Vec<Phase> {
        self.end_flush(end_us);
        let mut phases = self.reading.finish();
        phases.extend(self.phases);
        phases
    }

    /// The pending copies end between the last object read and the first table's post-processing.
    fn end_flush(&mut self, at_us: u64) {
        if let Some(start_us) = self.flushing_since.take() {
            self.phases.push(stamped_phase("flush", "", start_us, at_us, None));
        }
    }

    fn begin(&mut self, at_us: u64, thread: Option<u32>, step: LoadStep<'_>) {
        self.end_step(at_us, step.table);
        if let Some(task) = thread.and_then(|thread| self.threads.get_mut(&thread)) {
            task.table = Some(step.table.to_owned());
        }
        let open = OpenStep { name: step.name, item: step.item, start_us: at_us };
        self.tables.insert(step.table.to_owned(), open);
    }

    fn end_step(&mut self, at_us: u64, table: &str) {
        if let Some(open) = self.tables.remove(table) {
            self.phases.push(stamped_phase(open.name, &open.item, open.start_us, at_us, None));
        }
    }

    fn end_task(&mut self, at_us: u64, thread: Option<u32>, duration_us: u64) {
        let Some(task) = thread.and_then(|thread| self.threads.remove(&thread)) else { return };
        let Some(table) = task.table else { return };
        self.end_step(at_us, &table);
        let whole = reported("table", &table, task.start_us.saturating_add(duration_us), duration_us, None);
        self.phases.push(whole);
        self.timed_tables.insert(table);
    }

    /// The end of a table in whole seconds, printed after all threads have ended. Used only if no step of the
    /// table has a better known end.
    fn end_table(&mut self, at_us: u64, table: &str, duration_us: u64) {
        self.tables.remove(table);
        if !self.timed_tables.contains(table) {
            self.phases.push(reported("table", table, at_us, duration_us, None));
        }
    }
}

struct LoadStep<'a> {
    name: &'static str,
    item: String,
    table: &'a str,
}

fn parse_step<'a>(line: &LogLine<'a>) -> Option<LoadStep<'a>> {
    const STEPS: [(&str, &str, &str); 6] = [
        ("Clustering table ", "cluster", ""),
        ("Creating geometry index on table ", "index", " geometry"),
        ("Creating osm_id index on table ", "index", " osm_id"),
        ("Creating id index on table ", "index", " id"),
        ("Building index on table ", "index", ""),
        ("Analyzing table ", "analyze", ""),
    ];
    for (words, name, suffix) in STEPS {
        if let Some(table) = line.quoted_after(words) {
            return Some(LoadStep { name, item: format!("{table}{suffix}"), table });
        }
    }
    if let Some(table) = line.quoted_after("Creating index on table ") {
        let columns = line.text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let columns = columns.map_or("", |(columns, _)| columns).replace('"', "");
        return Some(LoadStep {
            name: "index",
            item: format!("{table} {columns}").trim_end().to_owned(),
            table,
        });
    }
    // From 2.1 on the middle's tables are not named.
    let table = line.text.strip_prefix("Building ")?.strip_suffix(" table")?;
    let (_, table) = table.split_once(" on middle ")?;
    Some(LoadStep { name: "index", item: format!("middle {table}"), table })
}

/// `All postprocessing on table 'T' done in 0s.`, `Done postprocessing on table 'T' in 0s`.
fn whole_table<'a>(line: &LogLine<'a>) -> Option<(&'a str, u64)> {
    if let Some(table) = line.quoted_after("All postprocessing on table ") {
        return Some((table, line.number_after(" done in ")?));
    }
    let table = line.quoted_after("Done postprocessing on table ")?;
    Some((table, line.number_after("' in ")?))
}

/// The reading of nodes, ways and relations.
#[derive(Debug, Default)]
struct Reading {
    start_us: u64,
    began: bool,
    /// Ends of nodes, ways, relations.
    ends: [Option<u64>; 3],
    /// (count, seconds) as reported.
    totals: [Option<(u64, u64)>; 3],
    last_us: Option<u64>,
}

const OBJECTS: [(&str, &str, &str); 3] = [
    ("node", "_nodes", " nodes in "),
    ("way", "_ways", " ways in "),
    ("relation", "_rels", " relations in "),
];

impl Reading {
    fn line(&mut self, at_us: u64, line: &LogLine<'_>) {
        if let Some(table) = line.analyzed() {
            self.began = true;
            let kind = OBJECTS.iter().position(|(_, suffix, _)| table.ends_with(suffix));
            if let Some(kind) = kind.filter(|kind| self.ends[*kind].is_none()) {
                self.ends[kind] = Some(at_us);
            }
        }
        if line.copies() {
            self.began = true;
        }
        if line.text.starts_with("Processed ") {
            self.total(at_us, line);
        } else if !self.began && self.last_us.is_none() && sets_up(line) {
            self.start_us = at_us;
        }
    }

    fn total(&mut self, at_us: u64, line: &LogLine<'_>) {
        for (kind, (_, _, words)) in OBJECTS.iter().enumerate() {
            if let (Some(count), Some(seconds)) = (line.number_after("Processed "), line.number_after(words))
            {
                self.totals[kind] = Some((count, seconds));
                self.last_us = Some(at_us);
            }
        }
    }

    /// One phase for each kind and one for the whole.
    fn finish(self) -> Vec<Phase> {
        let Some(end_us) = self.last_us else { return Vec::new() };
        let counts = self.totals.map(|total| total.map(|(count, _)| count));
        let total = counts.iter().flatten().sum();
        let mut phases = match self.ends {
            [Some(nodes), Some(ways), _] => {
                let bounds = [self.start_us, nodes, ways, end_us];
                (0..3)
                    .map(|kind| {
                        stamped_phase(OBJECTS[kind].0, "", bounds[kind], bounds[kind + 1], counts[kind])
                    })
                    .collect()
            }
            _ => self.in_seconds(end_us),
        };
        phases.insert(0, stamped_phase("read", "", self.start_us, end_us, Some(total)));
        phases
    }

    fn in_seconds(&self, end_us: u64) -> Vec<Phase> {
        let mut phases = Vec::new();
        for (kind, total) in self.totals.iter().enumerate() {
            if let Some((count, seconds)) = total {
                let duration_us = seconds.saturating_mul(1_000_000);
                phases.push(reported(OBJECTS[kind].0, "", end_us, duration_us, Some(*count)));
            }
        }
        without_overlap(&mut phases, end_us);
        phases
    }
}

/// Whether a line comes before the first object is read.
fn sets_up(line: &LogLine<'_>) -> bool {
    const WORDS: [&str; 9] = [
        "SQL: ",
        "Setting up table",
        "Using ",
        "Reading ",
        "Mid: ",
        "Started pool",
        "Database version",
        "PostGIS version",
        "Storing properties",
    ];
    WORDS.iter().any(|words| line.text.starts_with(words))
        && !line.text.starts_with("Reading input files done")
}
