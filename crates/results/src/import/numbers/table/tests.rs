use super::*;

fn runs(text: &str, figure: Option<&str>) -> Result<Vec<FoundRun>, String> {
    let path = Path::new("numbers.csv");
    let table = NumberTable::of(path, text.as_bytes(), figure);
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

#[test]
fn mistakes_name_line_and_column() {
    for (text, figure, wanted) in [
        ("", None, "numbers.csv: empty"),
        ("a,tps\n", None, "numbers.csv: no rows below its header"),
        ("a,tps\nx,5\ny,slow\n", None, "numbers.csv:3: invalid number in column tps: \"slow\""),
        ("a,tps\nx,5\ny,fast\n", Some("tps"), "numbers.csv:3: invalid number in column tps: \"fast\""),
        ("a,tps\nx,0\n", None, "numbers.csv:2: invalid number in column tps: \"0\""),
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
