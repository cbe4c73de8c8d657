use super::columns::number;
use super::*;

fn runs(text: &str, figure: Option<&str>) -> Result<Vec<FoundRun>, String> {
    runs_of(text.as_bytes(), TableColumns { figure, round: None })
}

fn runs_of(bytes: &[u8], given: TableColumns<'_>) -> Result<Vec<FoundRun>, String> {
    let path = Path::new("numbers.csv");
    let table = NumberTable::of(path, bytes, given);
    table.and_then(|table| table.runs(path, 0)).map_err(|error| error.to_string())
}

/// Factors, speed per second, round.
fn shown(text: &str, figure: Option<&str>) -> Vec<String> {
    let line = |found: FoundRun| {
        let run = found.run();
        let factors: Vec<String> =
            run.factors.iter().map(|(name, level)| format!("{name}={level}")).collect();
        let round = found.round.map(|round| format!(" #{round}")).unwrap_or_default();
        let value =
            run.took_s().map_or_else(|| format!("{:.2} tps", run.tps().unwrap()), |s| format!("{s:.3} s"));
        format!("{} {value}{round}", factors.join(" "))
    };
    runs(text, figure).unwrap().into_iter().map(line).collect()
}

#[test]
fn columns_are_factors_a_figure_and_the_repeat() {
    for (text, figure, wanted) in [
        (
            "Instance,run,tps\nsmall,1,100\nsmall,2,110.5\n",
            None,
            &[
                "instance=small workload=numbers 100.00 tps #1",
                "instance=small workload=numbers 110.50 tps #2",
            ][..],
        ),
        (
            "disk;warehouses;NOPM\nssd;100;45.660\n",
            None,
            &["disk=ssd warehouses=100 workload=numbers 0.76 tps"],
        ),
        ("disk\tload_min\nssd\t2,5\n", None, &["disk=ssd workload=numbers 150.000 s"]),
        (
            "workload,clients,p95 (ms),throughput\nread,8,3.5,\"1,234.5\"\n",
            None,
            &["clients=8 workload=read 1234.50 tps"],
        ),
        (
            "workload,clients,p95 (ms),throughput\nread,8,3.5,1234.5\n",
            Some("p95 (ms)"),
            &["clients=8 workload=read 0.004 s"],
        ),
        (
            "# my notes\nhost|points\na|7\n\nb|8\n",
            Some("points"),
            &["host=a workload=numbers 7.00 tps", "host=b workload=numbers 8.00 tps"],
        ),
        ("host,points\na,2\n", Some("points=h"), &["host=a workload=numbers 7200.000 s"]),
        (
            "host,date,seconds\na,2026-01-02T03:04:05,2\na,2026-01-02T03:05:05,\n",
            None,
            &["host=a workload=numbers 2.000 s"],
        ),
    ] {
        assert_eq!(shown(text, figure), wanted, "{text}");
    }
    let dated = runs("host,date,seconds\na,2026-01-02T03:04:05,2\n", None).unwrap();
    assert_eq!(dated[0].run().started_at, "2026-01-02T03:04:05Z");
    assert_eq!(dated[0].run().validity, Validity::Suspect, "nobody watched it");
    let two = runs("a,tps\nx,5\nx,5\n", None).unwrap();
    assert_ne!(two[0].hashes, two[1].hashes, "equal numbers are repeats");
}

/// Regression: refused, or taken for other than what they are.
#[test]
fn tables_are_read_as_people_write_them() {
    for (text, wanted) in [
        ("Rechner;Lauf;Durchsatz (kqps)\nalt;1;1,5\n", &["rechner=alt workload=numbers 1500.00 tps #1"][..]),
        ("host,iteration,ms per query\na,3,12.5\n", &["host=a workload=numbers 0.013 s #3"]),
        (
            "host,import\na,2:05:30\nb,59:59.5\n",
            &["host=a workload=numbers 7530.000 s", "host=b workload=numbers 3599.500 s"],
        ),
        (
            "| vm | test | ops/min |\n|:--|---|--:|\n| x | 2 | 600 |\n",
            &["vm=x workload=numbers 10.00 tps #2"],
        ),
        (
            "vm,round,tps,failed,transactions,cost_eur,p99\nx,1,5,0,300,9,7\ny,1,6,17,360,12,8\n",
            &["vm=x workload=numbers 5.00 tps #1", "vm=y workload=numbers 6.00 tps #1"],
        ),
        (
            "compression,tps\nnone,5\nlz4,6\n",
            &["compression=none workload=numbers 5.00 tps", "compression=lz4 workload=numbers 6.00 tps"],
        ),
    ] {
        assert_eq!(shown(text, None), wanted, "{text}");
    }
    let found = runs_of(b"Stra\xdfe,tps\n\x84S\xfcd\x93,5\n", TableColumns::default()).unwrap();
    assert_eq!(found[0].run().factors["straße"], "„Süd“");
    assert!(found[0].notes.iter().any(|note| note.contains("Windows-1252")), "{:?}", found[0].notes);
    let failures = runs("vm,run,tps,errors\nx,1,5,0\ny,1,6,17\n", None).unwrap();
    assert_eq!(failures[1].run().figures.named("table_errors"), Some(17.0));
}

#[test]
fn missing_values_and_rows_that_are_there_twice_are_counted_in_notes() {
    let text = "vm,run,score,p95_ms\nx,1,5,1\nx,2,n/a,2\nx,3,Timeout,\nx,4,0,-\nx,1,5,1\nx,4,7,3\n";
    let found = runs(text, None).unwrap();
    let shown: Vec<(String, Option<f64>, Validity)> =
        found.iter().map(|found| (found.source.clone(), found.run().tps(), found.run().validity)).collect();
    let run = |line: u32, tps, validity| (format!("numbers.csv line {line}"), Some(tps), validity);
    assert_eq!(
        shown,
        [run(2, 5.0, Validity::Suspect), run(5, 0.0, Validity::Invalid), run(7, 7.0, Validity::Suspect)]
    );
    let notes = found[0].notes.join("\n");
    for wanted in [
        "2 rows without a value in score, left out: lines 3, 4",
        "1 row the same as another row with its repeat, left out: line 6",
        "1 row with a repeat that another row of the cell has, counted as a further one: line 7",
    ] {
        assert!(notes.contains(wanted), "{notes}");
    }
    assert!(found[1].run().doubts.iter().any(|doubt| doubt.detail == "score is 0: the run failed"));
}

#[test]
fn a_column_that_may_number_the_repeats_is_named() {
    let text = "vm,kierros,tps\nx,1,5\nx,2,6\ny,1,7\ny,2,8\n";
    let said = |given| {
        runs_of(text.as_bytes(), given).unwrap()[0]
            .notes
            .iter()
            .any(|note| note.contains("say --round \"kierros\""))
    };
    let round = Some("Kierros");
    assert!(said(TableColumns::default()) && !said(TableColumns { round, figure: None }));
    let found = runs_of(text.as_bytes(), TableColumns { round, figure: None }).unwrap();
    assert_eq!((found[3].round, found[3].run().factors.get("kierros")), (Some(2), None));
    let error = runs_of(text.as_bytes(), TableColumns { round: Some("x"), figure: None }).unwrap_err();
    assert!(error.contains("no column \"x\": the columns are vm, kierros, tps"), "{error}");
}

/// Regression: a row took half a megabyte of memory, and wide rows were kept whole.
#[test]
fn what_a_row_may_hold_is_bounded() {
    let wide = format!("{}tps\n{}5\n", "a,".repeat(300), "x,".repeat(300));
    let long = format!("a,tps\n{},5\n", "x".repeat(2000));
    let row = format!(
        "{}tps\n{}5\n",
        (0..40).map(|n| format!("f{n},")).collect::<String>(),
        format!("{},", "x".repeat(900)).repeat(40)
    );
    for (text, wanted) in [
        (&wide, "numbers.csv:1: more than 256 columns"),
        (&long, "numbers.csv:2: a cell of 2000 bytes, above 1024"),
        (&row, "numbers.csv:2: a row of 36001 bytes, above 16384"),
    ] {
        let error = runs(text, None).unwrap_err();
        assert!(error.starts_with(wanted), "{error}");
    }
    let found = runs(
        &format!(
            "{}tps\n{}5\n",
            (0..14).map(|n| format!("f{n},")).collect::<String>(),
            format!("{},", "é".repeat(500)).repeat(14)
        ),
        None,
    )
    .unwrap();
    assert!(found[0].run().artifacts[0].bytes.len() <= KEPT);
}

#[test]
fn mistakes_name_line_and_column() {
    for (text, figure, wanted) in [
        ("", None, "numbers.csv: empty"),
        ("a,tps\n", None, "numbers.csv: no rows below its header"),
        ("a,tps\nx,5\ny,slow\n", None, "numbers.csv:3: invalid number in column tps: \"slow\""),
        ("a,tps\nx,5\ny,fast\n", Some("tps"), "numbers.csv:3: invalid number in column tps: \"fast\""),
        ("a,tps\r\nx,5\r\nx,-1\r\n", None, "numbers.csv:3: invalid number in column tps: \"-1\""),
        ("a,tps\nx,5,6\n", None, "numbers.csv:2: not a table"),
        ("a,b\nx,y\n", None, "numbers.csv: no column of a figure among a, b"),
        ("a,tps\nx,5\n", Some("qps"), "numbers.csv: no column \"qps\": the columns are a, tps"),
        ("a,b\nx,5\n", Some("b=furlong"), "numbers.csv: invalid unit \"furlong\" of --figure"),
        ("a\nx\n", None, "numbers.csv:1: each column needs a name"),
    ] {
        let error = runs(text, figure).unwrap_err();
        assert!(error.starts_with(wanted), "{error} for {wanted}");
    }
}

#[test]
fn numbers_of_all_countries_are_read() {
    for (text, wanted) in [
        ("1234.5", 1234.5),
        ("1,234.5", 1234.5),
        ("1.234,5", 1234.5),
        ("1 234", 1234.0),
        ("0,125", 0.125),
        ("12,5", 12.5),
        ("1,234", 1234.0),
        ("-2", -2.0),
    ] {
        assert_eq!(number(text), Some(wanted), "{text}");
    }
    for text in ["", "x", "1.2.3,4,5", "inf", "NaN"] {
        assert_eq!(number(text), None, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_survived(text in "(a,tps\n)?[a-z0-9,;.\"\n #]{0,80}", figure in "[a-z=]{0,6}") {
        let _ = runs(&text, Some(&figure));
        let _ = runs(&text, None);
    }
}
