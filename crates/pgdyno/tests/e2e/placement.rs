//! Default placement of clients and managed servers: chosen once, from a calibration's result.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{Finished, Place, Server, Watched, signal};

const EXPERIMENT: &str = r#"
question = "Is it where it was?"
[target]
TARGET
[prepare]
pgbench = { scale = 1 }
[workload.reads]
pgbench = { builtin = "select-only" }
[factors]
clients = 1
FACTORS
[measure]
warmup = "50ms"
duration = "500ms"
rounds = 2
"#;

fn experiment(place: &Place, name: &str, target: &str, factors: &str) -> PathBuf {
    place.write(name, EXPERIMENT.replace("TARGET", target).replace("FACTORS", factors))
}

fn placements(place: &Place, experiment: &str) -> String {
    place.sql(&format!(
        "select coalesce(group_concat(distinct e.detail), 'none') from event e join run r using (run_id) join experiment x \
         using (experiment_id) where e.kind = 'placement' and x.name = '{experiment}'"
    ))
}

fn run(place: &Place, file: &Path) -> Finished {
    place.run(["run".as_ref(), file.as_os_str()])
}

/// Writes a calibration result for this host next to the existing facts.
fn advise(place: &Place, level: &str) {
    let path = place.home().join("host.json");
    let known = std::fs::read_to_string(&path).expect("this host is known");
    let (known, _) =
        known.split_once(",\n  \"placement\"").unwrap_or((known.trim_end().trim_end_matches('}'), ""));
    let found = format!(
        "\"level\": \"{level}\", \"why\": \"so it was found\", \"found_at\": \"2026-01-02T03:04:05Z\""
    );
    std::fs::write(&path, format!("{},\n  \"placement\": {{ {found} }}\n}}", known.trim_end())).unwrap();
}

#[test]
fn an_experiment_keeps_the_placement_that_it_began_with() {
    let place = Place::with_private("placed");
    let file = experiment(&place, "kept.toml", "managed = { name = \"placed\" }", "");
    run(&place, &experiment(&place, "before.toml", "managed = { name = \"placed\" }", "mode = \"simple\""))
        .expect(0)
        .says(&["placement free", "was not calibrated"]);
    assert_eq!(placements(&place, "before"), "none");

    // A second without work is enough to know this host.
    let open = std::fs::read_to_string(&file).unwrap() + "[load]\nrate = 200\n";
    let again = place.write("open-again.toml", open.replace("clients = 1", "clients = 2"));
    let open = place.write("open.toml", open);
    let first = run(&place, &open).expect(0);
    if place.home().join("host.json").exists() {
        first.says(&["is not known yet: a second with nothing to do", "a schedule is late from"]);
        assert_eq!(place.sql("select count(*) from run_figure where name = 'host_lag_p99_us'"), "2");
        assert!(!run(&place, &again).stderr.contains("is not known yet"), "it was kept");
    } else {
        // A result measured next to other programs is not stored; a calibration at least stores its subject.
        first.says(&["other programs took"]);
        place.run(["calibrate", "--seconds", "5", "--clients", "1"]).expect(0);
    }

    advise(&place, "apart");
    let two = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    let mut running = Watched::start(place.command(["run", "--verbose", file.to_str().unwrap()]));
    assert!(running.until("step: measure"), "{}", running.seen);
    signal(running.child.id(), "INT");
    let (status, seen) = running.end();
    assert_eq!(status.code(), Some(75), "{seen}");
    let said = if two { "calibrate advised it for this host on 2026-01-02" } else { "is not available" };
    assert!(seen.contains(said), "{seen}");

    // The new advice applies to experiments that begin now.
    advise(&place, "free");
    let dry = place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(0);
    let page = place.path().join("kept.html");
    let rest = place.run(["run", file.to_str().unwrap(), "--report", page.to_str().unwrap()]).expect(0);
    if two {
        for told in [&dry.stderr, &rest.stderr] {
            assert!(told.contains("placement apart (clients on CPU "), "{told}");
        }
        let count = "select count(distinct round) from event join run using (run_id) join experiment using (experiment_id) \
                     where event.kind = 'placement' and name = 'kept'";
        assert_eq!(place.sql(count), "2");
        assert!(!placements(&place, "kept").contains(", clients"), "alike in all runs");
        assert!(std::fs::read_to_string(&page).unwrap().contains("apart: calibrate advised it"));
    }
    // The same experiment by its identity; when measured again, it is placed again.
    let again = place.run(["run", file.to_str().unwrap(), "--again"]).expect(0);
    assert!(again.stderr.contains("placement free"), "{}", again.stderr);
    assert_eq!(place.sql("select count(distinct hash) from experiment where name = 'kept'"), "1");

    // The file's value has priority.
    advise(&place, "apart");
    let own = experiment(&place, "own.toml", "managed = { name = \"placed\" }", "placement = \"free\"");
    let done = run(&place, &own).expect(0);
    assert!(!done.stderr.contains("calibrate advised"), "{}", done.stderr);
    assert_eq!(placements(&place, "own"), "none");

    // A server by URL is never moved.
    let server = Server::start();
    let by_url = experiment(&place, "url.toml", &format!("url = \"{}\"", server.url()), "");
    let done = run(&place, &by_url).expect(0);
    assert!(!done.stderr.contains("placement"), "{}", done.stderr);
    assert_eq!(placements(&place, "url"), "none");
    place.run(["target", "destroy", "placed"]).expect(0);
    place.wait_until_quiet(Duration::from_secs(10));
}
