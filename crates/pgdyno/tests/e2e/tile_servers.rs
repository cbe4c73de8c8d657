//! Tile servers next to an experiment's server: started for its runs, recorded with them, stopped afterwards.

use std::time::Duration;

use crate::support::{Place, Server, Watched, signal};

/// Each transaction fails unless the pool has ten connections.
const SCRIPT: &str =
    "SELECT 1 / (count(*) >= 11)::int FROM pg_stat_activity WHERE backend_type = 'client backend';\n";

/// Arms with settings, so that tile servers are restarted.
const EXPERIMENT: &str = r#"
question = "Do tile servers stand beside it?"
[target]
TARGET
tile_servers = [{ kind = "tipg", workers = 1, connections = 10 }]
[workload.beside]
pgbench = { files = ["beside.sql"] }
[factors]
clients = 2
[compare]
factor = "settings"
base = "small"
[settings.small]
work_mem = "4MB"
[settings.large]
work_mem = "8MB"
[measure]
slices = false
warmup = "50ms"
duration = "DURATION"
rounds = 2
"#;

fn write(place: &Place, target: &str, duration: &str) -> String {
    place.write("beside.sql", SCRIPT);
    let text = EXPERIMENT.replace("TARGET", target).replace("DURATION", duration);
    place.write("tiles.toml", text).to_str().unwrap().to_owned()
}

const MANAGED: &str = "managed = { name = \"tiled\", extensions = [\"postgis\"] }";

#[test]
fn a_tile_server_stands_beside_every_run_and_is_recorded() {
    let place = Place::with_private_postgis("tiled");
    let file = write(&place, MANAGED, "300ms");
    place.run(["run", "--dry-run", &file]).expect(0).says(&["with tipg before it"]);
    let done = place.run(["run", &file]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let runs = "select group_concat(arm || ' ' || runs, ', ') from \
                (select arm, count(*) as runs from v_run where ok > 0 and failed = 0 group by arm order by arm)";
    assert_eq!(place.sql(runs).trim_matches('"'), "large 2, small 2");
    let told = "select group_concat(distinct detail) from run join event using (run_id) where event.kind = 'version'";
    let told = place.sql(told);
    assert!(told.contains("tipg 1.") && told.contains("uvicorn"), "{told}");
    assert!(told.contains(": 1 worker, 10 connections to the database"), "{told}");
    place.wait_until_quiet(Duration::from_secs(10));
    assert_eq!(std::fs::read_dir(place.home().join("tile-servers")).unwrap().count(), 0);
    place.run(["target", "destroy", "tiled"]).expect(0);
}

#[test]
fn a_server_by_url_has_tile_servers_too() {
    let (place, server) = (Place::new(), Server::start_with_postgis());
    let target = format!("url = \"{}\"", server.network_url("scram", "geheim", "?sslmode=disable"));
    let file = write(&place, &target, "300ms");
    let done = place.run(["run", &file]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(place.sql("select count(*) from v_run where ok > 0 and failed = 0"), "4");
    place.wait_until_quiet(Duration::from_secs(10));
}

#[test]
fn what_is_wrong_with_a_tile_server_is_told_before_anything_is_measured() {
    let place = Place::new();
    let file = write(&place, MANAGED, "300ms");
    let text = std::fs::read_to_string(&file).unwrap();
    let none = place
        .write("none.toml", text.replace("kind = \"tipg\"", "kind = \"tipg\", program = \"/bin/false\""));
    let done = place.run(["run", "--allow-commands", none.to_str().unwrap()]).expect(68);
    done.says(&["/bin/false: it says no version", "setup/install tipg", "PGDYNO_TIPG"]);
    let unknown = place.write("unknown.toml", text.replace("kind = \"tipg\"", "kind = \"tegola\""));
    let done = place.run(["run", unknown.to_str().unwrap()]).expect(65);
    done.says(&["`target.tile_servers` cannot be \"tegola\"", "\"martin\""]);
    // Without PostGIS it cannot start, and reports why.
    let bare = place.write("bare.toml", text.replace(", extensions = [\"postgis\"]", ""));
    let done = place.run(["run", bare.to_str().unwrap()]);
    assert!(!matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    done.says(&["tipg did not start"]);
    place.wait_until_quiet(Duration::from_secs(10));
}

#[test]
fn a_killed_pgdyno_leaves_no_tile_server() {
    let place = Place::with_private_postgis("tiled");
    let file = write(&place, MANAGED, "30s");
    let mut running = Watched::start(place.command(["run", "--verbose", &file]));
    assert!(running.until("step: measure"), "{}", running.seen);
    let seen = place.processes();
    assert!(seen.iter().any(|line| line.contains("uvicorn")), "{seen:?}");
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(Duration::from_secs(12));
    assert_eq!(std::fs::read_dir(place.home().join("tile-servers")).unwrap().count(), 0);
}
