//! Storage as a factor: `pgdyno run` end to end. If filesystems cannot be made, the command reports that and
//! stops.

use crate::support::{self, Place};

const FILE: &str = r#"
question = "Which storage?"
[target]
managed = { name = "stands" }
[prepare]
pgbench = { scale = 1 }
[workload.tpcb]
pgbench = { builtin = "tpcb-like" }
[storage.folder]
path = "disk"
[storage.small]
filesystem = "ext4"
size = "600MB"
[storage.log]
filesystem = "ext4"
size = "600MB"
holds = "wal"
[factors]
storage = ["folder", "small", "log"]
[compare]
factor = "storage"
base = "folder"
[measure]
warmup = "50ms"
duration = "300ms"
rounds = 2
"#;

/// Each run uses a separate server, the others are stopped; afterwards nothing is mounted.
#[test]
fn storages_are_compared_and_gone_afterwards() {
    let place = Place::new();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let file = place.write("stands.toml", FILE);
    let done = support::finish(place.command(["run", file.to_str().unwrap(), "--report", "report.html"]));
    if done.stderr.contains("there is only one arm that can be run here") {
        let why = done.stderr.lines().find(|line| line.contains("not run")).unwrap_or_default();
        return support::not_available("filesystems", why);
    }
    assert!(matches!(done.status.code(), Some(0..=2)), "{}\n{}", done.stdout, done.stderr);
    // A disturbed run is invalid. There is no other reason to be invalid.
    let other = "select count(*) from run join run_doubt using (run_id) where validity = 'invalid' \
                 and reason not in ('steal', 'throttled', 'unsteady', 'other_programs')";
    let runs = "select count(distinct arm || round) from run where arm is not null";
    assert_eq!([place.sql(runs), place.sql(other)], ["6", "0"]);
    let on = |arm: &str| {
        place.sql(&format!(
            "select count(distinct round) from event join run using (run_id) where arm = '{arm}' and event.kind = 'server' and detail like '%, on %'"
        ))
    };
    assert_eq!([on("folder"), on("small"), on("log")], ["2", "2", "2"]);
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(place.path().to_str().unwrap()), "{mounts}");
    assert!(std::fs::read_dir(&disk).unwrap().next().is_some(), "what stands in a folder stays");
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(
        report.contains("the server of each storage works alone"),
        "the report does not say how they ran"
    );
}

/// Only the first server of each block was alone; the others were used while earlier ones still worked.
#[test]
fn each_run_on_a_storage_finds_no_other_server_at_work() {
    let place = Place::new();
    let disks = ["one", "two"].map(|name| place.path().join(name));
    disks.iter().for_each(|disk| std::fs::create_dir(disk).unwrap());
    let [one, two] = disks.map(|disk| disk.display().to_string());
    // A row for each running server.
    place.write(
        "alone.sql",
        format!(
            "SELECT path FROM (VALUES ('{one}'), ('{two}')) AS disk (path), pg_ls_dir(path) AS server,
             pg_ls_dir(path || '/' || server || '/data', true, false) AS file WHERE file = 'postmaster.pid';\n"
        ),
    );
    let file = place.write(
        "alone.toml",
        "question = \"?\"\n[target]\nmanaged = { name = \"alone\" }\n[workload.look]\npgbench = { files = [\"alone.sql\"] }\n\
         [storage.one]\npath = \"one\"\n[storage.two]\npath = \"two\"\n[factors]\nstorage = [\"one\", \"two\"]\n[compare]\n\
         factor = \"storage\"\nbase = \"one\"\n[measure]\nwarmup = \"0s\"\nduration = \"200ms\"\nrounds = 2\nexplain = false\n",
    );
    let done = support::finish(place.command(["run", file.to_str().unwrap()]));
    assert!(matches!(done.status.code(), Some(0..=2)), "{}\n{}", done.stdout, done.stderr);
    let alone =
        "select count(*) from v_run where arm is not null and validity <> 'invalid' and ok > 0 and rows = ok";
    assert_eq!(place.sql(alone), "4", "{}", done.stderr);
}
