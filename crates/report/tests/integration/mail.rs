//! The report for a mailing list.

use std::sync::Arc;

use crate::fixture::{Shape, data};
use report::{ReportData, mail};
use spec::shell::PrintedCommand;
use spec::{BuildRecord, Doubt, MeasuredTarget, Reason, Run, RunEvent, Validity, figures};

const WIDTH: usize = 78;

fn build(prefix: &str, assertions: bool, commit: &str) -> BuildRecord {
    let configure = format!(
        "'--prefix={prefix}' '--with-icu' '--with-lz4' '--with-openssl' '--with-llvm' '--enable-tap-tests' \
         'CFLAGS=-O2 -fno-omit-frame-pointer' 'LLVM_CONFIG=/usr/bin/llvm-config-19'"
    );
    BuildRecord {
        version: "PostgreSQL 19devel on x86_64-pc-linux-gnu, compiled by gcc 14.2.0, 64-bit".into(),
        assertions,
        configure: Some(configure),
        cc: Some("gcc".into()),
        cflags: Some("-Wall -Wmissing-prototypes -fno-strict-aliasing -O2 -fno-omit-frame-pointer".into()),
        tree: None,
        commit: Some(commit.into()),
    }
}

/// The server of a run's arm crashed under it.
fn crash(run: &mut Run) {
    run.validity = Validity::Invalid;
    run.doubts = vec![Doubt { reason: Reason::Crashed, detail: "signal 6".into() }];
    let lines = "2026-11-27 14:34:49.518 UTC [317] LOG:  server process (PID 766) was terminated by signal 6: Aborted\n\
                 2026-11-27 14:34:49.518 UTC [317] DETAIL:  Failed process was running: SELECT f(0, 'x');";
    run.events.push(RunEvent { time_us: 0, kind: RunEvent::CRASH.into(), detail: lines.into() });
}

/// Three arms, one of them another build, in four cells.
fn sample() -> ReportData {
    let arms = vec![("stock", 0.0), ("gis", 0.06), ("patched", -0.09)];
    let workloads = vec![("polygons", 17.3), ("select-only", 8354.0)];
    let mut made = data(&Shape { arms, workloads, ..Shape::small() });
    let target = made.target.clone();
    let build_of = |prefix: &str, commit: &str| MeasuredTarget {
        build: Some(build(prefix, commit.ends_with("-dirty"), commit)),
        ..target.clone()
    };
    made.target = build_of("/opt/master", &"a1".repeat(20));
    let patched = build_of("/opt/patched", &format!("{}-dirty", "b2".repeat(20)));
    made.experiment.arms[2].target = Some(patched);
    for (at, run) in made.runs.iter_mut().enumerate() {
        let load =
            [(figures::LOAD_1M, 1.0 + at as f64 / 10.0), (figures::CPU_BUSY_PCT, 88.0 + (at % 9) as f64)];
        run.figures.extend(load);
    }
    crash(&mut made.runs[7]);
    let course = results::Course {
        command: PrintedCommand::read("pgdyno run 'größe.toml' --margin 3%"),
        ..results::Course::default()
    };
    let ReportData { experiment, host, target, runs, .. } = made;
    let mut data = ReportData::new(experiment, host, target, runs);
    data.course = course;
    data
}

#[test]
fn a_mail_of_several_cells_and_arms() {
    insta::assert_snapshot!(mail::text(&sample(), Some("work.csv")));
}

#[test]
fn a_mail_is_narrow_and_ascii_whatever_is_in_it() {
    let mut data = sample();
    data.experiment.question = "Ist „größer“ schneller → ja\u{1b}[2J?".into();
    data.experiment.arms[1].name = "größer".into();
    for run in data.runs.iter_mut().filter(|run| run.arm.as_deref() == Some("gis")) {
        run.arm = Some("größer".into());
    }
    let two_rounds = crate::fixture::data(&Shape { rounds: 2, ..Shape::default() });
    for data in [crate::fixture::remade(data), crate::fixture::data(&Shape::default()), two_rounds] {
        let text = mail::text(&data, None);
        assert!(text.is_ascii() && !text.contains('\u{1b}'), "{text}");
        for line in text.lines() {
            assert!(line.len() <= WIDTH, "{line}\n{text}");
        }
    }
}

/// A mail without its attachment said that it was attached.
#[test]
fn a_mail_names_its_attachment_or_says_how_to_write_it() {
    let data = sample();
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(&mail::text(&data, Some("a.csv"))).contains("Attached: a.csv, every run"));
    let printed = flat(&mail::text(&data, None));
    assert!(printed.contains("Not attached") && printed.contains("--output mail.txt"), "{printed}");
    let csv = mail::attachment(&data);
    assert_eq!(csv.lines().count(), 1 + data.runs.len());
    assert!(csv.starts_with(mail::ATTACHMENT), "{csv}");
}

#[test]
fn without_a_comparison_each_cell_has_its_mean() {
    let text = mail::text(&data(&Shape { arms: vec![], ..Shape::small() }), None);
    assert!(text.contains("Mean of each cell") && text.contains("clients 4"), "{text}");
    assert!(text.contains("how it was built is not available"), "{text}");
}

#[test]
fn the_number_of_clients_is_shown_even_if_it_is_the_same_everywhere() {
    let text = mail::text(&data(&Shape { clients: vec![4], ..Shape::small() }), None);
    assert!(text.contains("; 4 clients."), "{text}");
}

/// Two builds against a base by both metrics, with 1, 4 and 16 clients, as one asks a mailing list; on a busy machine.
fn builds() -> ReportData {
    let shape = Shape {
        arms: vec![("master", 0.0), ("v3-spin10", -0.09), ("v2-spin3", 0.0)],
        workloads: vec![("select-only", 8354.0)],
        clients: vec![1, 4, 16],
        rounds: 6,
        ..Shape::small()
    };
    let mut made = data(&shape);
    made.experiment.question =
        "Is select-only on PostgreSQL v3-spin10 or v2-spin3 faster than on master?".into();
    let target = made.target.clone();
    for (at, arm) in made.experiment.arms.iter_mut().enumerate() {
        let commit = ["a1", "b2", "c3"][at].repeat(20);
        arm.target = Some(MeasuredTarget { build: Some(build("/opt", false, &commit)), ..target.clone() });
        arm.unsafe_settings.clear();
    }
    for run in &mut made.runs {
        // CPU time is steadier than throughput.
        let slower = if run.arm.as_deref() == Some("v3-spin10") { 1.17 } else { 1.0 };
        let noise = 1.0 + 0.003 * f64::from((run.round * 7 + run.clients) % 5);
        let us = 20.0 * slower * noise;
        run.figures.set(figures::SERVER_CPU_S, run.completed() as f64 * us * 1e-6);
        run.figures.set(figures::CPU_OTHERS_PCT, 72.0);
        Arc::make_mut(&mut run.settings).iter_mut().for_each(|setting| setting.is_initial = Some(true));
        run.validity = Validity::Suspect;
        run.doubts = vec![Doubt {
            reason: Reason::OtherPrograms,
            detail: "other programs used 72 % of the CPUs".into(),
        }];
    }
    let command = "pgdyno bench --managed -S -M prepared -s 10 -c 1,4,16 -T 4 --against 'build: b/master, b/v3-spin10, \
                   b/v2-spin3' --beside";
    let course = results::Course { command: PrintedCommand::read(command), ..results::Course::default() };
    let ReportData { experiment, host, target, runs, .. } = made;
    let mut data = ReportData::new(experiment, host, target, runs);
    data.course = course;
    data
}

/// It had 57 lines.
#[test]
fn a_mail_of_three_builds_and_three_numbers_of_clients_is_one_screen() {
    let text = mail::text(&builds(), Some("mail.csv"));
    assert!(text.lines().count() <= 40, "{} lines\n{text}", text.lines().count());
    insta::assert_snapshot!(text);
}

/// Figures and change of a cell contradicted each other, the weaker metric came first, and values that `initdb` writes
/// were "not at the default".
#[test]
fn figures_agree_and_the_more_reliable_metric_is_first() {
    let text = mail::text(&builds(), None);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}\n{text}"));
    assert!(at("By server CPU per transaction") < at("By throughput"), "{text}");
    assert!(at("Geometric means over rounds") > 0 && at("Settings: all at the default") > 0, "{text}");
    assert!(!text.contains("hold at once") && !text.contains("max_connections"), "{text}");
    let row =
        text.lines().find(|line| line.starts_with("v3-spin10") && line.matches("us ").count() == 1).unwrap();
    let base: f64 = text.split("master ").nth(3).unwrap().split(' ').next().unwrap().parse().unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    let [new, change] = [words[1], words[3]].map(|word| word.parse::<f64>().unwrap());
    assert!((100.0 * (new / base - 1.0) - change).abs() < 0.6, "{base} {row}");
}

#[test]
fn results_without_the_values_of_initdb_say_so() {
    let mut data = builds();
    let settings = data.runs.iter_mut().flat_map(|run| Arc::make_mut(&mut run.settings));
    settings.for_each(|setting| setting.is_initial = None);
    let text = mail::text(&data, None);
    assert!(text.contains("Settings: which somebody changed is not available"), "{text}");
}
