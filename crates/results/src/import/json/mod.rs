//! pgdyno's JSON. `bench --format json` and the drop-in's `--format json` print runs; `run`, `compare` and
//! `table` print figures over many runs, which are rejected by name.

mod bench;
mod dropin;

use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};
use spec::Error;

use super::found::FoundRun;
use super::lines;
use super::source::Input;
use crate::import::error::{at, unreadable};

/// A larger file holds no runs, which take a few thousand bytes each.
const MOST: u64 = 256 << 20;

/// All printed results in a file, in order.
///
/// # Errors
/// Invalid JSON, something other than runs, or output of a newer pgdyno, with its place.
pub(super) fn read(path: &Path, input: Input, changed_us: i64) -> Result<Vec<FoundRun>, Error> {
    let mut bytes = Vec::new();
    input.take(MOST).read_to_end(&mut bytes).map_err(|error| unreadable(path, error))?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    let mut found = Vec::new();
    loop {
        let line = 1 + text[..values.byte_offset()].iter().filter(|byte| **byte == b'\n').count() as u64;
        let Some(value) = values.next() else { break };
        let value = value.map_err(|error| at(path, error.line() as u64, format!("not JSON: {error}")))?;
        let place = LineOrigin { path, line, changed_us, several: !found.is_empty() };
        found.push(run(&value, &place)?);
    }
    Ok(found)
}

struct LineOrigin<'a> {
    path: &'a Path,
    line: u64,
    changed_us: i64,
    /// Whether others precede it.
    several: bool,
}

impl LineOrigin<'_> {
    fn source(&self) -> String {
        match self.several {
            true => format!("{} from line {}", self.path.display(), self.line),
            false => self.path.display().to_string(),
        }
    }

    fn refused(&self, what: &str, advice: &str) -> Error {
        at(self.path, self.line, what).with_hint(advice)
    }
}

const SEND_ALL: &str = "send the results file itself (pgdyno.sqlite), which every command reads with --results; \
                        single runs can be imported from what bench --format json prints";

fn run(value: &Value, place: &LineOrigin<'_>) -> Result<FoundRun, Error> {
    let hash = lines::sha256(&value.to_string());
    match value {
        Value::Object(facts) => dropin::run(facts, place, hash),
        Value::Array(rows) => {
            let Some(first) = rows.first() else { return Err(place.refused("an empty list", SEND_ALL)) };
            let Value::Object(first) = first else { return Err(place.refused(STRANGE, SEND_ALL)) };
            match no_run(first) {
                Some(what) => Err(place.refused(what, SEND_ALL)),
                None => bench::run(value, place, hash),
            }
        }
        _ => Err(place.refused(STRANGE, SEND_ALL)),
    }
}

const STRANGE: &str = "JSON, but not of a run of pgdyno";

/// The kind of rows with these columns, if not runs.
fn no_run(row: &Map<String, Value>) -> Option<&'static str> {
    let has = |columns: &[&str]| columns.iter().all(|column| row.contains_key(*column));
    if has(&["script", "tps", "ok"]) {
        None
    } else if has(&["change_pct", "verdict"]) {
        Some(
            "a comparison, as compare and run print it: changes of cells, without the runs that they are taken from",
        )
    } else if has(&["tps_mean", "runs"]) {
        Some("means of cells, without the runs that they are taken from")
    } else if has(&["run", "round", "validity"]) {
        Some("a table of runs, without what was counted in them")
    } else if has(&["phase", "ms"]) {
        Some("the phases of a job, which is no run of a load")
    } else {
        Some(STRANGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<FoundRun>, Error> {
        read(Path::new("mail.json"), Box::new(std::io::Cursor::new(text.as_bytes().to_vec())), 0)
    }

    const RUN: &str = r#"[{"script": "<builtin: select only>", "weight": 1, "tps": 100.0, "due": 1000, "ok": 1000,
        "late": 0, "failed": 0, "skipped": 0, "unfinished": 0, "retried": 0, "retries": 0, "completed": 1000, "rows": 1000,
        "bytes": 8000, "affected": 0, "seed": "7", "validity": "valid", "doubts": "", "clients": 4, "threads": 2,
        "protocol": "prepared", "warmup_s": 0.0, "measured_s": 10.0, "started_at": "2026-01-02T03:04:05Z",
        "pgdyno": "0.1.0", "run": "a uuid", "response": null, "service": null}]"#;

    #[test]
    fn a_run_of_bench_comes_with_what_was_counted() {
        let found = read_text(&format!("{RUN}\n{}", RUN.replace("\"7\"", "\"8\""))).expect("two runs");
        let [one, other] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.source.as_str(), other.source.as_str()), ("mail.json", "mail.json from line 5"));
        let run = one.run();
        assert_eq!(run.workload, "select-only");
        assert_eq!((run.clients, run.threads, run.seed, run.measured_s), (4, 2, 7, 10.0));
        assert_eq!(run.tps(), Some(100.0));
        assert_eq!(run.started_at, "2026-01-02T03:04:05Z");
        assert_eq!(run.factors["protocol"], "prepared");
        assert_ne!(one.hashes, other.hashes);
        assert_eq!(run.doubts[0].detail, "measured by pgdyno 0.1.0 elsewhere; valid there");
    }

    #[test]
    fn a_doubt_of_the_one_who_measured_stays() {
        let text = RUN.replace("\"valid\", \"doubts\": \"\"", "\"invalid\", \"doubts\": \"CPU steal: 40 %\"");
        let found = read_text(&text).expect("a run");
        assert_eq!(found[0].run().validity, spec::Validity::Invalid);
        assert!(found[0].run().doubts[0].detail.ends_with("elsewhere; invalid there: CPU steal: 40 %"));
    }

    #[test]
    fn what_is_no_run_is_named() {
        for (text, wanted) in [
            (
                r#"[{"arm": "gis", "change_pct": 1.0, "verdict": "same"}]"#,
                "a comparison, as compare and run print it",
            ),
            (r#"[{"workload": "a", "runs": 3, "tps_mean": 1.0}]"#, "means of cells"),
            (r#"[{"run": 1, "round": 1, "tps": 1.0, "validity": "valid"}]"#, "a table of runs"),
            (r#"[{"phase": "vacuum", "item": "", "ms": 1.0, "count": null}]"#, "the phases of a job"),
            (r#"[{"id": 1}]"#, STRANGE),
            (r#"{"type": "FeatureCollection"}"#, STRANGE),
            ("[]", "an empty list"),
            ("[1]", STRANGE),
            (r#"{"schema": "pgdyno-pgbench/2"}"#, "written by a newer pgdyno"),
            ("[{\"script\": \"a\",\n \"tps\": ", "not JSON"),
            (r#"[{"script": "a", "tps": 1.0, "ok": "many"}]"#, "not as bench --format json prints it"),
            (
                RUN.replace(r#""response": null"#, r#""response": "1 2 3 4 AAAA""#).as_str(),
                "response: not an HdrHistogram",
            ),
        ] {
            let error = read_text(text).expect_err(text);
            assert!(error.to_string().contains(wanted), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[{][ -~]{0,80}") {
            let _ = read_text(&text);
        }
    }
}
