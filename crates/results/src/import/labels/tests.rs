use super::*;

/// The labels after these lines, with the round.
fn read(lines: &[&str]) -> String {
    let mut reader = LabelReader::default();
    lines.iter().for_each(|line| reader.take(line));
    let Labels { levels, round, .. } = reader.of_result();
    if levels.is_empty() && round.is_none() {
        return "none".to_owned();
    }
    let levels = levels.iter().map(|(name, level)| format!("{name}={level}"));
    levels.chain(round.map(|round| format!("#{round}"))).collect::<Vec<_>>().join(" ")
}

#[test]
fn labels_are_read_however_they_are_written() {
    for (lines, wanted) in [
        (&["Instance: small", "Run: 1"][..], "instance=small #1"),
        (&["# instance=r5.large, run=3"], "instance=r5.large #3"),
        (&["=== m5.large ==="], "label=m5.large"),
        (&["## m5.large, run 2"], "label=m5.large #2"),
        (&["--- Disk type: gp3; iteration: 2/5 ---"], "disk_type=gp3 #2"),
        (&["Run 4 of 5"], "#4"),
        (&["run: cold"], "run=cold"),
        (&["== r7g.large ==", "-- attempt 3 --"], "label=r7g.large #3"),
        (&["== r7g.large ==", "-- ext4 --", "pass 2"], "label=r7g.large label 2=ext4 #2"),
        (&["# vm=a7 round=2 disk=nvme"], "disk=nvme vm=a7 #2"),
        (&["try=4 cpu=arm"], "cpu=arm #4"),
        (&[">>> Tier: premium (pass 3) <<<"], "tier=premium #3"),
        (&["<<< x"], "none"),
        (&["[MariaDB 11] attempt #2"], "label=MariaDB 11 #2"),
        (&["++ export VOLUME=io2"], "volume=io2"),
        (&["io2 #4:"], "label=io2 #4"),
        (&["[2025-01-02 03:04:05] Volume: io2", "03:04:06 Test 2 of 9"], "volume=io2 #2"),
        (&["########", "# io2", "########"], "label=io2"),
        (&["======", "io2, iteration 2", "======"], "label=io2 #2"),
        (&["me@db-io2:/srv$ pgbench -c 4 shop"], "host=db-io2"),
        (&["[root@db-io2 ~]# pgbench -c 4 shop"], "host=db-io2"),
        (&["Durchlauf 3", "#7"], "#7"),
        (&["Test run no. 5"], "#5"),
        (&["# io2", "Now on io2", "+ pgbench -c 4"], "none"),
        (&["Instance: small", "Instance: big"], "instance=big"),
        (&["starting vacuum...end.", "pgbench: error: x", "Time: 10:00:01", "Load: 0.75", "", "==="], "none"),
        (&["real\t0m30.1s", "$ pgbench -c 8", "done in 0.30 s (drop tables 0.00 s)."], "none"),
        (&["url: postgres://me:secret@h/db", "my password: x"], "none"),
    ] {
        assert_eq!(read(lines), wanted, "{lines:?}");
    }
    let listing: Vec<String> = (0..12).map(|n| format!("field {n}: x")).collect();
    let listing: Vec<&str> = listing.iter().map(String::as_str).collect();
    assert_eq!(read(&listing), "none", "a listing of a machine");
}

#[test]
fn labels_hold_until_others_follow() {
    let mut reader = LabelReader::default();
    reader.take("Machine: a");
    reader.take("Run: 1");
    let first = reader.of_result();
    reader.take("Run: 2");
    let second = reader.of_result();
    assert_eq!((first.levels, first.round), (second.levels.clone(), Some(1)));
    assert_eq!((second.levels["machine"].as_str(), second.round), ("a", Some(2)));
}

/// The levels of results with these lines before each, and what is said of them.
fn apart(blocks: &[&[&str]]) -> (Vec<String>, String) {
    let mut reader = LabelReader::default();
    let mut results = Vec::new();
    for block in blocks {
        block.iter().for_each(|line| reader.take(line));
        results.push(reader.of_result());
    }
    let cells: Vec<String> = blocks.iter().map(|_| "c".to_owned()).collect();
    let note = tell_apart(&mut results, &cells).unwrap_or_default();
    let level = |labels: &Labels| labels.levels.get(HEADING).cloned().unwrap_or_default();
    (results.iter().map(level).collect(), note)
}

/// Regression: results of several machines were repeats of one cell, without a word.
#[test]
fn lines_that_are_not_understood_keep_results_apart() {
    let (levels, note) = apart(&[&["now the big box"], &["now the big box"], &["now the small box"]]);
    assert_eq!(levels, ["now the big box", "now the big box", "now the small box"]);
    assert!(
        note.starts_with(
            "lines between the results were not understood, and change: \"now the big box\", \"now the small"
        ),
        "{note}"
    );
    let (levels, _) = apart(&[&["big box"], &[], &["small box"], &[]]);
    assert_eq!(levels, ["big box", "big box", "small box", "small box"], "a machine is named once");
    let (levels, _) = apart(&[&["+ pgbench -h db7"], &["+ pgbench -h db8"], &["+ pgbench -h db7"]]);
    assert_eq!((levels[0] == levels[2], levels[0] == levels[1]), (true, false));
    let (levels, note) =
        apart(&[&["warm cache", "Fri Nov 27 10:01:11 UTC 2026"], &["warm cache", "10:02:11"]]);
    assert_eq!(levels, ["", ""]);
    assert!(note.is_empty() || note.starts_with("2 results are repeats of one cell; these lines between them were not understood: \"warm cache\""), "{note}");
    let (levels, note) =
        apart(&[&["Run: 1", "starting vacuum...end."], &["Run: 2", "real\t0m30.1s", "2026-01-02 10:00:00"]]);
    assert_eq!((levels, note), (vec![String::new(); 2], String::new()));
    let (_, note) = apart(&[&["PGPASSWORD=geheim pgbench"], &["psql postgres://me:geheim@h/db"]]);
    assert!(note.contains("password") && !note.contains("geheim"), "{note}");
    let time = [
        "0.93user 0.12system 0:03.95elapsed 26%CPU",
        "0.99user 0.10system 0:04.05elapsed 31%CPU",
        "Maximum size (kbytes): 105845",
    ];
    let (levels, _) = apart(&[&[time[0], time[2]], &[time[1], "Maximum size (kbytes): 117330"]]);
    assert_eq!(levels, ["", ""], "what is measured of a run is no label");
    let counters =
        |many: u32| (0..12).map(|n| format!("Page faults (of {n}): {}", n * many)).collect::<Vec<_>>();
    let (one, other) = (counters(3), counters(7));
    let (one, other): (Vec<&str>, Vec<&str>) =
        (one.iter().map(String::as_str).collect(), other.iter().map(String::as_str).collect());
    assert_eq!(apart(&[&one, &other]).0, ["", ""], "nor is a listing of counters");
    let listing = |model: &str| -> Vec<String> {
        (0..12).map(|n| format!("field {n}: {n}")).chain([format!("Model name: {model}")]).collect()
    };
    let (one, other) = (listing("Xeon 8488C"), listing("EPYC 9R14"));
    let lines = |all: &'static [String]| all.iter().map(String::as_str).collect::<Vec<&str>>();
    let (one, other) = (lines(one.leak()), lines(other.leak()));
    let (levels, _) = apart(&[&one, &one, &other]);
    assert_eq!((levels[0] == levels[1], levels[0] == levels[2]), (true, false), "{levels:?}");
}

proptest::proptest! {
    #[test]
    fn any_blocks_are_survived(lines in proptest::collection::vec("\\PC{0,20}", 0..6)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let half = lines.len() / 2;
        let _ = apart(&[&lines[..half], &lines[half..]]);
    }

    #[test]
    fn any_line_is_survived(line in "[=#*-]{0,3}\\PC{0,30}[=:]?\\PC{0,30}") {
        let _ = read(&[&line]);
    }
}
