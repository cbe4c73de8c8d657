use spec::Error;

use super::*;
use crate::import::labels::Labels;

fn parsed(text: &str) -> Result<Vec<ParsedReport>, Error> {
    read(Path::new("bench.txt"), &mut Lines::new(text.as_bytes()))
}

/// All found values, a line each; missing ones are left out.
fn shown(reports: &[ParsedReport]) -> String {
    let mut text = String::new();
    for report in reports {
        assert!(report.labels.levels.is_empty());
        let report = ParsedReport { labels: Labels::default(), ..report.clone() };
        let no_labels = ["labels: Labels {", "levels: {},", "unread: [],"];
        let is_value = |line: &&str| !no_labels.contains(&line.trim());
        let text_of = format!("{report:#?}").replace("        unread: [],\n    },\n", "");
        for line in text_of.lines().filter(is_value).filter(|line| !line.trim_end().ends_with("None,")) {
            let line = line.trim_end();
            let own = line.trim_start().strip_prefix("text: \"").unwrap_or_default();
            if !own.trim_start_matches("\\t").starts_with("transaction type") {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

#[test]
fn reports_before_14() {
    let text = include_str!("../../../tests/data/pgbench/older-versions.txt");
    insta::assert_snapshot!(shown(&parsed(text).unwrap()));
}

#[test]
fn reports_of_real_runs() {
    for (name, text) in [
        ("15_bad", include_str!("../../../tests/data/pgbench/15-bad.txt")),
        ("15_multi", include_str!("../../../tests/data/pgbench/15-multi.txt")),
        ("15_rate", include_str!("../../../tests/data/pgbench/15-rate.txt")),
        ("15_retry", include_str!("../../../tests/data/pgbench/15-retry.txt")),
        ("17_fail", include_str!("../../../tests/data/pgbench/17-fail.txt")),
        ("18_all", include_str!("../../../tests/data/pgbench/18-all.txt")),
    ] {
        insta::assert_snapshot!(name, shown(&parsed(text).unwrap()));
    }
}

#[test]
fn the_text_of_a_report_is_kept_without_time_stamps() {
    let text = include_str!("../../../tests/data/pgbench/older-versions.txt");
    let reports = parsed(text).unwrap();
    assert!(reports[2].text.starts_with("transaction type: Update only"), "{}", reports[2].text);
    assert!(reports[3].text.contains("\n\tquery mode: extended\n"), "{}", reports[3].text);
    assert!(reports[4].text.contains("\n - statement latencies"), "{}", reports[4].text);
    assert!(reports[5].text.ends_with(" 98.000  END;\n"), "{}", reports[5].text);
}

#[test]
fn what_is_no_report_is_told() {
    for (text, wanted) in [
        ("", "bench.txt: neither a report nor a log of pgbench, and no log of osm2pgsql"),
        ("hello\nworld\n", "bench.txt: neither a report nor a log of pgbench, and no log of osm2pgsql"),
        (
            "a\ntps = 12.5 (excluding connections establishing)\n",
            "bench.txt: no report of pgbench: line 2 has a rate, but \"transaction type: …\" is missing",
        ),
        (
            "transaction type: x\nscaling factor: 1\nnumber of transactions actually processed: 5\nlatency av",
            "bench.txt:3: the report that begins in line 1 is cut off: it has no rate",
        ),
        (
            "transaction type: x\nscaling factor: 1\ntransaction type: x\n",
            "bench.txt:3: the report that begins in line 1 is cut off: it has no rate",
        ),
        ("transaction type: x\nnumber of clients: many\n", "bench.txt:2: invalid number \"many\" (Clients)"),
    ] {
        assert_eq!(parsed(text).unwrap_err().to_string(), wanted);
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
        let _ = read(Path::new("x"), &mut Lines::new(&bytes[..]));
    }

    /// Lines of real reports in any order, cut anywhere.
    #[test]
    fn no_mixture_makes_it_panic(picks in proptest::collection::vec((0usize..400, 0usize..90), 0..60)) {
        let all = [
            include_str!("../../../tests/data/pgbench/18-all.txt"),
            include_str!("../../../tests/data/pgbench/older-versions.txt"),
            include_str!("../../../tests/data/pgbench/15-rate.txt"),
        ].concat();
        let lines: Vec<&str> = all.lines().collect();
        let text: String = picks
            .iter()
            .map(|(line, cut)| lines[line % lines.len()].chars().skip(cut / 60).take(*cut).chain(['\n']).collect::<String>())
            .collect();
        if let Ok(reports) = parsed(&text) {
            for report in reports {
                let _ = (report.counts(), report.script_counts(), report.script_names(), report.measured_s());
                let _ = (super::progress::series(&report.progress), super::progress::csv(&report.progress));
            }
        }
    }
}
