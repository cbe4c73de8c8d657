//! What a line of osm2pgsql's log reports, in the words of every version from 0.80 on.
//!
//! Rates of objects that are counted at the end are never read: at 0 s osm2pgsql prints the count as the rate.
//! The rates of the progress display are used where nothing else is known.

use super::line::LogLine;

/// The kinds of objects; events refer to them by their place here.
pub(super) const OBJECTS: [&str; 3] = ["node", "way", "relation"];

/// What a line reports.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event<'a> {
    /// A line before the first object is read.
    SetUp,
    ReadFile,
    Progress(Progress),
    /// The input is read; 1.2 and earlier print this for each file.
    Read {
        seconds: u64,
        /// Of one file, not of all.
        of_file: bool,
    },
    Objects {
        kind: usize,
        count: u64,
        seconds: Option<u64>,
    },
    /// Begins the work on pending ways or relations.
    Pending {
        kind: usize,
        count: Option<u64>,
    },
    PendingCount {
        kind: usize,
        count: u64,
    },
    PendingDone {
        kind: usize,
        count: Option<u64>,
        seconds: u64,
    },
    /// Parents of marked objects (output flex, append only); without a count there are none.
    ParentsOfMarked {
        count: Option<u64>,
    },
    /// The second stage of output flex: first its id indexes, then marked objects once more.
    StageTwo,
    NoStageTwo,
    IndexesOfStageTwo {
        seconds: u64,
    },
    Reprocess {
        kind: usize,
        count: u64,
    },
    TaskStarts,
    TaskDone {
        milliseconds: u64,
    },
    /// Work on a table begins, without a name for its first step.
    TableStarts(&'a str),
    Step(Step<'a>),
    /// The step of this name has ended; `None` for whichever is open.
    StepDone {
        name: Option<&'static str>,
        table: &'a str,
    },
    TableDone {
        table: &'a str,
        seconds: Option<u64>,
    },
}

/// Clustering, indexing or analyzing of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step<'a> {
    pub(super) name: &'static str,
    pub(super) item: String,
    pub(super) table: &'a str,
}

impl Step<'_> {
    /// Whether nothing is done with a table before: it is clustered first, and the middle's have one step only.
    pub(super) fn is_first(&self) -> bool {
        let is_middle = self.name == "index" && (self.item == self.table || self.item.starts_with("middle "));
        self.name == "cluster" || is_middle
    }
}

/// The last progress display: `Processing: Node(5k 1.2k/s) Way(3k 0.45k/s) Relation(20 10.0/s)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Objects of each kind; nodes and ways in whole thousands.
    pub counts: [u64; 3],
    /// Objects per second; absent before 0.80.
    pub rates: [Option<f64>; 3],
}

impl<'a> Event<'a> {
    pub(super) fn of(line: &LogLine<'a>) -> Option<Self> {
        let text = line.text;
        if text.starts_with("SQL: ") {
            return None;
        }
        reading(line)
            .or_else(|| pending(line))
            .or_else(|| stage_two(line))
            .or_else(|| match text {
                "Starting task..." => Some(Self::TaskStarts),
                _ => Some(Self::TaskDone { milliseconds: line.number_after("Done task in ")? }),
            })
            .or_else(|| step(line).map(Self::Step))
            .or_else(|| table(line))
            .or_else(|| sets_up(text).then_some(Self::SetUp))
    }
}

fn reading<'a>(line: &LogLine<'a>) -> Option<Event<'a>> {
    let text = line.text;
    if text.starts_with("Reading in file: ") || text.starts_with("Reading file: ") {
        return Some(Event::ReadFile);
    }
    if let Some(seconds) = line.number_after("Reading input files done in ") {
        return Some(Event::Read { seconds, of_file: false });
    }
    if text.starts_with("Processing: ") {
        let of_file = line.number_after("parse time: ").map(|seconds| Event::Read { seconds, of_file: true });
        return of_file.or_else(|| Progress::of(text).map(Event::Progress));
    }
    if text.starts_with("parse time: ") {
        return Some(Event::Read { seconds: line.number_after("parse time: ")?, of_file: true });
    }
    if let Some((name, _)) = text.split_once(" stats: total(") {
        let kind = OBJECTS.iter().position(|kind| kind.eq_ignore_ascii_case(name))?;
        let count = line.number_after("total(")?;
        return Some(Event::Objects { kind, count, seconds: line.number_after(") in ") });
    }
    let count = line.number_after("Processed ").filter(|_| text.starts_with("Processed "))?;
    let kind = OBJECTS.iter().position(|kind| text.contains(&format!(" {kind}s in ")))?;
    Some(Event::Objects { kind, count, seconds: line.number_after("s in ") })
}

fn pending<'a>(line: &LogLine<'a>) -> Option<Event<'a>> {
    let text = line.text;
    let kind = || match text {
        text if text.contains("way") || text.contains("Way") => 1,
        _ => 2,
    };
    if text.starts_with("Going over ") && text.contains("pending ") {
        return Some(Event::Pending { kind: kind(), count: line.number_after("Going over ") });
    }
    let first = line.number_at_start();
    if let Some(count) = first.filter(|_| text.ends_with("s are pending")) {
        return Some(Event::PendingCount { kind: kind(), count });
    }
    if text.starts_with("Processing ") {
        let seconds = line.number_after(" took ").filter(|_| text.contains(" pending "))?;
        return Some(Event::PendingDone { kind: kind(), count: line.number_after("Processing "), seconds });
    }
    // The sum over all processes; in 0.80 to 0.86 there is no other.
    if let Some(seconds) = line.number_after("s took ").filter(|_| text.contains(" Pending ")) {
        return Some(Event::PendingDone { kind: kind(), count: Some(first?), seconds });
    }
    let seconds = line.number_after("s in ").filter(|_| text.starts_with("Finished processing "))?;
    Some(Event::PendingDone { kind: kind(), count: line.number_after("Finished processing "), seconds })
}

fn stage_two<'a>(line: &LogLine<'a>) -> Option<Event<'a>> {
    let text = line.text;
    if text.starts_with("Reprocess marked ") {
        return Some(Event::StageTwo);
    }
    if text.starts_with("No marked ") {
        return Some(Event::NoStageTwo);
    }
    if text.starts_with("Entering stage 1c") || text.starts_with("Skipping stage 1c") {
        let count = line.number_after("Entering stage 1c processing of ");
        return Some(Event::ParentsOfMarked { count });
    }
    if let Some(seconds) = line.number_after("Creating id indexes took ") {
        return Some(Event::IndexesOfStageTwo { seconds });
    }
    let (what, _) = text.strip_prefix("There are ")?.split_once(" to reprocess")?;
    let kind = OBJECTS.iter().position(|kind| what.ends_with(&format!(" {kind}s")))?;
    Some(Event::Reprocess { kind, count: line.number_after("There are ")? })
}

/// The beginning of a step, with the table in quotes (from 1.3 on), or without (before).
fn step<'a>(line: &LogLine<'a>) -> Option<Step<'a>> {
    const STEPS: [(&str, &str, &str); 8] = [
        ("Clustering table ", "cluster", ""),
        ("Sorting data and creating indexes for ", "cluster", ""),
        ("Creating geometry index on ", "index", " geometry"),
        ("Creating osm_id index on ", "index", " osm_id"),
        ("Creating id index on ", "index", " id"),
        ("Building index on ", "index", ""),
        ("Analyzing table ", "analyze", ""),
        ("Creating index on table ", "index", " columns"),
    ];
    // From 2.1 on the middle's tables are not named.
    let middle = line.text.strip_prefix("Building ").and_then(|rest| rest.strip_suffix(" table"));
    if let Some((_, table)) = middle.and_then(|rest| rest.split_once(" on middle ")) {
        return Some(Step { name: "index", item: format!("middle {table}"), table });
    }
    for (words, name, suffix) in STEPS {
        let Some(rest) = line.text.strip_prefix(words) else { continue };
        let table = table_name(rest)?;
        let columns = line.text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let item = match suffix {
            " columns" => format!("{table} {}", columns.map_or("", |(columns, _)| columns).replace('"', "")),
            suffix => format!("{table}{suffix}"),
        };
        return Some(Step { name, item: item.trim_end().to_owned(), table });
    }
    None
}

fn table<'a>(line: &LogLine<'a>) -> Option<Event<'a>> {
    const DONE: [(&str, &str); 4] = [
        ("All postprocessing on table ", " done in "),
        ("Done postprocessing on table ", "' in "),
        ("All indexes on ", " in "),
        ("Stopped table: ", " in "),
    ];
    let text = line.text;
    for (words, before_seconds) in DONE {
        if let Some(table) = text.strip_prefix(words).and_then(table_name) {
            return Some(Event::TableDone { table, seconds: line.number_after(before_seconds) });
        }
    }
    if let Some(table) = text.strip_prefix("Completed ").and_then(table_name) {
        return Some(Event::TableDone { table, seconds: None });
    }
    if let Some(table) = text.strip_prefix("Stopping table: ").and_then(table_name) {
        return Some(Event::TableStarts(table));
    }
    let done = text.strip_suffix(" finished")?;
    let (name, rest) = if let Some(rest) = done.strip_prefix("Copying ") {
        (Some("cluster"), rest)
    } else if let Some(rest) = done.strip_prefix("Analyzing ") {
        (Some("analyze"), rest)
    } else {
        (None, done.strip_prefix("Creating indexes on ")?)
    };
    Some(Event::StepDone { name, table: table_name(rest)? })
}

/// The name at the start of a text: `'point' by geometry...`, `: point (fastupdate=off)`, ` point created in`.
fn table_name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let behind = text.strip_prefix("table").filter(|rest| rest.starts_with([':', ' ']));
    let text = behind.unwrap_or(text).trim_start_matches([':', ' ']);
    match text.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'').map(|(name, _)| name),
        None => text.split_whitespace().next(),
    }
}

/// Whether a line comes before the first object is read.
pub(super) fn sets_up(text: &str) -> bool {
    const WORDS: [&str; 14] = [
        "SQL: ",
        "osm2pgsql version ",
        "osm2pgsql SVN version ",
        "Setting up table",
        "Using ",
        "Mid: ",
        "Allocating ",
        "Node-cache: ",
        "Started pool",
        "Database version",
        "PostGIS version",
        "Initializing properties",
        "Storing properties",
        "Loading properties",
    ];
    WORDS.iter().any(|words| text.starts_with(words))
}

impl Progress {
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut progress = Self::default();
        for (kind, name) in ["Node(", "Way(", "Relation("].iter().enumerate() {
            let (_, rest) = text.split_once(name)?;
            let (inside, _) = rest.split_once(')')?;
            let (count, rate) = inside.split_once(' ').unwrap_or((inside, ""));
            progress.counts[kind] = scaled(count)? as u64;
            progress.rates[kind] = rate.strip_suffix("/s").and_then(scaled);
        }
        Some(progress)
    }

    pub(super) fn seconds(&self, kind: usize) -> Option<f64> {
        let rate = self.rates[kind].filter(|rate| *rate > 0.0)?;
        Some(self.counts[kind] as f64 / rate)
    }

    /// `5,036,470k nodes`: the kind that was read last, as osm2pgsql prints it.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let kind = (0..3).rev().find(|kind| self.counts[*kind] > 0)?;
        let count = match kind {
            2 => grouped(self.counts[kind]),
            _ => format!("{}k", grouped(self.counts[kind] / 1000)),
        };
        Some(format!("{count} {}s", OBJECTS[kind]))
    }
}

/// Digits in groups of three: `5,036,470`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

/// `5.2k` is 5200.
fn scaled(text: &str) -> Option<f64> {
    let (number, factor) = text.strip_suffix('k').map_or((text, 1.0), |number| (number, 1000.0));
    let value: f64 = number.parse().ok()?;
    (value.is_finite() && (0.0..1e18).contains(&value)).then_some(value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(raw: &str) -> Option<Event<'_>> {
        Event::of(&LogLine::parse(raw))
    }

    #[test]
    fn words_of_all_versions_are_known() {
        use Event::*;
        let cases = [
            ("Node stats: total(1681), max(1295161822)", Objects { kind: 0, count: 1681, seconds: None }),
            ("Way stats: total(9), max(9) in 5497s", Objects { kind: 1, count: 9, seconds: Some(5497) }),
            (
                "  Processed 7 relations in 85s (1m 25s) - 1/s",
                Objects { kind: 2, count: 7, seconds: Some(85) },
            ),
            ("Going over pending ways...", Pending { kind: 1, count: None }),
            ("\t12 relations are pending", PendingCount { kind: 2, count: 12 }),
            (
                "Finished processing 12 relations in 13 sec",
                PendingDone { kind: 2, count: Some(12), seconds: 13 },
            ),
            (
                "71 Pending relations took 4s at a rate of 17.75/s",
                PendingDone { kind: 2, count: Some(71), seconds: 4 },
            ),
            ("Going over 8 pending relations (using 4 threads)", Pending { kind: 2, count: Some(8) }),
            (
                "Processing 8 pending relations took 63s (1m 3s) at a rate of 0.13/s",
                PendingDone { kind: 2, count: Some(8), seconds: 63 },
            ),
            ("Entering stage 1c processing of 3 ways...", ParentsOfMarked { count: Some(3) }),
            ("Skipping stage 1c for nodes (no marked nodes).", ParentsOfMarked { count: None }),
            ("Reprocess marked nodes/ways (stage 2)...", StageTwo),
            ("No marked nodes or ways (Skipping stage 2).", NoStageTwo),
            ("There are 9 nodes to reprocess...", Reprocess { kind: 0, count: 9 }),
            ("  parse time: 57s", Read { seconds: 57, of_file: true }),
            ("Stopping table: al_ways", TableStarts("al_ways")),
            ("Stopped table: al_ways", TableDone { table: "al_ways", seconds: None }),
            ("All indexes on  al_line created  in 188s", TableDone { table: "al_line", seconds: Some(188) }),
            ("Completed al_line", TableDone { table: "al_line", seconds: None }),
            ("Analyzing al_line finished", StepDone { name: Some("analyze"), table: "al_line" }),
            (
                "Copying al_line to cluster by geometry finished",
                StepDone { name: Some("cluster"), table: "al_line" },
            ),
            ("Creating indexes on  al_line finished", StepDone { name: None, table: "al_line" }),
        ];
        for (raw, wanted) in cases {
            assert_eq!(event(raw), Some(wanted), "{raw}");
        }
        for (raw, name, item) in [
            ("Building index on table: al_ways (fastupdate=off)", "index", "al_ways"),
            ("Building indexes on middle rels table", "index", "middle rels"),
            ("Creating geometry index on  al_line", "index", "al_line geometry"),
            ("Creating osm_id index on table 'al_line'...", "index", "al_line osm_id"),
            ("Creating index on table 'al' (\"geom\")...", "index", "al geom"),
            ("Sorting data and creating indexes for al_line", "cluster", "al_line"),
        ] {
            let Some(Step(step)) = event(raw) else { panic!("{raw}: {:?}", event(raw)) };
            assert_eq!((step.name, step.item.as_str()), (name, item), "{raw}");
        }
        assert_eq!(event("NOTICE:  table \"al_point\" does not exist, skipping"), None);
    }

    #[test]
    fn the_progress_display_has_counts_and_rates() {
        let all =
            Progress::of("Processing: Node(3333342k 2100.4k/s) Way(344218k 62.62k/s) Relation(41 26.1/s)")
                .unwrap();
        assert_eq!(all.counts, [3_333_342_000, 344_218_000, 41]);
        assert_eq!(all.rates, [Some(2_100_400.0), Some(62_620.0), Some(26.1)]);
        assert_eq!(all.in_words().as_deref(), Some("41 relations"));
        let early = Progress::of("Processing: Node(4021k) Way(0k) Relation(0k)").unwrap();
        assert_eq!((early.rates, early.in_words().as_deref()), ([None; 3], Some("4,021k nodes")));
        assert_eq!(Progress::of("Processing: Node(x"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(raw in "(Processed |Building |Going over |There are |Processing: Node\\()?\\PC{0,40}") {
            let _ = event(&raw);
        }
    }
}
