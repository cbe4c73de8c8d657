//! Which line of a report is which.

use super::model::{ProgressLine, Statement};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportKey {
    Banner,
    Kind,
    Scale,
    PartitionMethod,
    Partitions,
    Protocol,
    Clients,
    Threads,
    MaxTries,
    PerClient,
    Duration,
    Processed,
    Failed,
    Serialization,
    Deadlock,
    Other,
    Retried,
    Retries,
    Skipped,
    Late,
    Latency,
    Stddev,
    Lag,
    Connect,
    Reconnect,
    Tps,
    Script,
    Weight,
    Total,
    Statements,
    Progress,
    Seed,
    Incomplete,
    Aborted,
}

/// The words of each; the first match in a line decides.
const LABELS: &[(&str, ReportKey)] = &[
    ("progress: ", ReportKey::Progress),
    ("transaction type: ", ReportKey::Kind),
    ("scaling factor: ", ReportKey::Scale),
    ("partition method: ", ReportKey::PartitionMethod),
    ("partitions: ", ReportKey::Partitions),
    ("query mode: ", ReportKey::Protocol),
    ("number of clients: ", ReportKey::Clients),
    ("number of threads: ", ReportKey::Threads),
    ("maximum number of tries: ", ReportKey::MaxTries),
    ("number of transactions per client: ", ReportKey::PerClient),
    ("number of transactions actually processed: ", ReportKey::Processed),
    ("number of failed transactions: ", ReportKey::Failed),
    ("number of serialization failures: ", ReportKey::Serialization),
    ("number of deadlock failures: ", ReportKey::Deadlock),
    ("number of other failures: ", ReportKey::Other),
    ("number of transactions retried: ", ReportKey::Retried),
    ("total number of retries: ", ReportKey::Retries),
    ("number of transactions skipped: ", ReportKey::Skipped),
    ("number of transactions above the ", ReportKey::Late),
    ("latency average = ", ReportKey::Latency),
    ("latency average: ", ReportKey::Latency),
    ("latency stddev = ", ReportKey::Stddev),
    ("latency stddev: ", ReportKey::Stddev),
    ("rate limit schedule lag: avg ", ReportKey::Lag),
    ("initial connection time = ", ReportKey::Connect),
    ("average connection time = ", ReportKey::Reconnect),
    ("statement latencies in milliseconds", ReportKey::Statements),
    ("SQL script ", ReportKey::Script),
    ("weight: ", ReportKey::Weight),
    (" transactions (", ReportKey::Total),
    ("tps = ", ReportKey::Tps),
    ("duration: ", ReportKey::Duration),
    ("pgbench (", ReportKey::Banner),
    ("setting random seed to ", ReportKey::Seed),
    ("Run was aborted", ReportKey::Incomplete),
    (" aborted in ", ReportKey::Aborted),
];

/// The key of a line, and the texts before and after its label. pgbench indents some lines, with or without
/// a dash. Its name precedes its messages, and a number precedes a script's transactions.
pub(super) fn recognise(line: &str) -> Option<(ReportKey, &str, &str)> {
    LABELS.iter().find_map(|(label, key)| {
        let at = line.find(label)?;
        let before = &line[..at];
        let may_follow =
            matches!(key, ReportKey::Seed | ReportKey::Incomplete | ReportKey::Aborted | ReportKey::Total);
        let fits = may_follow || matches!(before.trim(), "" | "-");
        fits.then(|| (*key, before, line[at + label.len()..].trim_end()))
    })
}

/// A line without the time stamp that `docker logs --timestamps` and build services prepend.
pub(super) fn without_stamp(line: &str) -> &str {
    match line.split_once(' ') {
        Some((stamp, rest)) if stamp.ends_with('Z') && stamp.parse::<jiff::Timestamp>().is_ok() => rest,
        _ => line,
    }
}

/// The number at the start of a text.
pub(super) fn parse_real(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+' | 'e')))
        .unwrap_or(text.len());
    text[..end].parse::<f64>().ok().filter(|value| value.is_finite())
}

pub(super) fn parse_whole(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `15.18 (Debian …), server 17.1)`: the version of pgbench, and the server's if it differs.
pub(super) fn banner(rest: &str) -> Option<(String, Option<String>)> {
    let inside = rest.strip_suffix(')')?;
    if !inside.starts_with(|letter: char| letter.is_ascii_digit()) && !inside.starts_with("PostgreSQL") {
        return None;
    }
    match inside.split_once(", server ") {
        Some((own, server)) => Some((own.to_owned(), Some(server.to_owned()))),
        None => Some((inside.to_owned(), None)),
    }
}

pub(super) fn progress(rest: &str) -> Option<ProgressLine> {
    let mut parts = rest.split(", ");
    let time = parts.next()?.strip_suffix(" s")?;
    let tps = parts.next()?.strip_suffix(" tps")?;
    let mut found =
        ProgressLine { time_s: parse_real(time)?, tps: parse_real(tps)?, ..ProgressLine::default() };
    for part in parts {
        if let Some(latency) = part.strip_prefix("lat ") {
            found.latency_ms = parse_real(latency);
            found.stddev_ms = latency.split_once("stddev ").and_then(|(_, stddev)| parse_real(stddev));
        } else if let Some(lag) = part.strip_prefix("lag ") {
            found.lag_ms = parse_real(lag);
        } else if let Some((count, what)) = part.split_once(' ') {
            let Some(count) = parse_whole(count) else { continue };
            match what {
                "failed" => found.failed = count,
                "skipped" => found.skipped = count,
                "retried" => found.retried = count,
                "retries" => found.retries = count,
                _ => {}
            }
        }
    }
    Some(found)
}

/// Columns between the latency and the text of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementColumns {
    /// None (14 and earlier).
    Latency,
    Failures,
    Retries,
}

impl StatementColumns {
    pub(super) fn of(rest: &str) -> Self {
        if rest.contains("retries") {
            Self::Retries
        } else if rest.contains("failures") {
            Self::Failures
        } else {
            Self::Latency
        }
    }

    pub(super) fn parse(self, line: &str) -> Option<Statement> {
        let (latency, mut rest) = word(line)?;
        if !latency.contains('.') {
            return None;
        }
        let latency_ms = latency.parse::<f64>().ok().filter(|value| value.is_finite())?;
        let mut counts = [None, None];
        for count in counts.iter_mut().take(self as usize) {
            let (text, after) = word(rest)?;
            *count = Some(text.parse().ok()?);
            rest = after;
        }
        let text = rest.trim().to_owned();
        let [failures, retries] = counts;
        (!text.is_empty()).then_some(Statement { latency_ms, failures, retries, text })
    }
}

fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_indented_and_behind_a_time_stamp() {
        for line in [
            "number of clients: 50",
            "\tnumber of clients: 50  ",
            "2026-01-01T00:00:00.0000000Z number of clients: 50",
        ] {
            let (key, _, rest) = recognise(without_stamp(line)).unwrap();
            assert_eq!((key, rest), (ReportKey::Clients, "50"), "{line}");
        }
        for other in ["xnumber of clients: 50", "> number of clients: 50", "starting vacuum...end."] {
            assert!(recognise(other).is_none(), "{other}");
        }
        assert_eq!(recognise(" - latency average = 1.5 ms").map(|found| found.0), Some(ReportKey::Latency));
    }

    #[test]
    fn progress_of_all_versions() {
        let plain = progress("5.0 s, 1234.5 tps, lat 0.810 ms stddev 0.120").unwrap();
        assert_eq!(
            (plain.time_s, plain.tps, plain.latency_ms, plain.stddev_ms),
            (5.0, 1234.5, Some(0.81), Some(0.12))
        );
        let all = "1700000000.123 s, 9.0 tps, lat 0.8 ms stddev 0.1, 3 failed, lag 0.105 ms, 2 skipped, 4 retried, 5 retries";
        let all = progress(all).unwrap();
        assert_eq!((all.time_s, all.failed, all.lag_ms), (1_700_000_000.123, 3, Some(0.105)));
        assert_eq!((all.skipped, all.retried, all.retries), (2, 4, 5));
        let idle = progress("5.0 s, 0.0 tps, lat 0.000 ms stddev -nan, 0 failed").unwrap();
        assert_eq!((idle.latency_ms, idle.stddev_ms), (Some(0.0), None));
        assert_eq!(progress("100000 of 200000 tuples (50%) done"), None);
    }

    #[test]
    fn banners() {
        assert_eq!(banner("15.20 (Debian 15.20-0))").unwrap().0, "15.20 (Debian 15.20-0)");
        let (own, server) = banner("PostgreSQL) 18.0 (pgdyno 0.1.0), server 17.1)").unwrap();
        assert_eq!((own.as_str(), server.as_deref()), ("PostgreSQL) 18.0 (pgdyno 0.1.0)", Some("17.1")));
        assert_eq!(banner("see the manual)"), None);
    }

    #[test]
    fn statements_of_all_versions() {
        use StatementColumns as Columns;
        let old = Columns::of(":").parse("\t0.004386\t\\set nbranches 1 * :scale").unwrap();
        assert_eq!((old.latency_ms, old.text.as_str()), (0.004386, "\\set nbranches 1 * :scale"));
        let new =
            Columns::of(" and failures:").parse("         0.167           0  UPDATE x SET a = 1;").unwrap();
        assert_eq!((new.failures, new.retries, new.text.as_str()), (Some(0), None, "UPDATE x SET a = 1;"));
        let retried = Columns::of(", failures and retries:").parse("   1.500   2    3 7 + 1;").unwrap();
        assert_eq!((retried.failures, retried.retries, retried.text.as_str()), (Some(2), Some(3), "7 + 1;"));
        for line in ["", "done", "12 apples", "1.5", "1.5 x y"] {
            assert_eq!(Columns::Failures.parse(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in ".{0,120}") {
            if let Some((_, _, rest)) = recognise(&line) {
                let _ = (parse_real(rest), parse_whole(rest), banner(rest), progress(rest));
            }
            let _ = (progress(&line), StatementColumns::Retries.parse(&line), parse_real(&line), parse_whole(&line));
        }
    }
}
