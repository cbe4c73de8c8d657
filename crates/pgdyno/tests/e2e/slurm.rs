//! Parts of an experiment as tasks of a real Slurm.

use std::path::{Path, PathBuf};

use crate::support::slurm::Slurm;
use crate::support::{Place, Server, sleeping};

const GRID: &str = r#"
question = "How fast are the cells?"
[target]
url = "URL"
[workload.sleeps]
pgbench = { files = "sleeps.sql" }
[factors]
clients = [1, 2, 3, 4]
[measure]
warmup = "0s"
duration = "DURATION"
rounds = 2
"#;

struct Site {
    slurm: Slurm,
    place: Place,
    server: Server,
}

impl Site {
    fn new(duration: &str) -> Option<Self> {
        let slurm = Slurm::start()?;
        let (place, server) = sleeping(0.01);
        place.write("grid.toml", GRID.replace("URL", &server.url()).replace("DURATION", duration));
        Some(Self { slurm, place, server })
    }

    fn log(&self) -> String {
        let logs =
            std::fs::read_dir(self.place.path()).expect("own folder").flatten().map(|entry| entry.path());
        let logs = logs.filter(|path| path.extension().is_some_and(|ending| ending == "log"));
        logs.map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
    }

    fn merged(&self, code: i32) -> (PathBuf, String) {
        let (all, parts) = (self.place.path().join("all.sqlite"), self.parts());
        let args = ["merge", "-o", "all.sqlite", "--replace"].into_iter().map(PathBuf::from).chain(parts);
        let done = self.place.run(args);
        assert_eq!(done.status.code(), Some(code), "{}\n{}", done.stderr, self.log());
        (all, done.stderr)
    }

    fn parts(&self) -> Vec<PathBuf> {
        let found =
            std::fs::read_dir(self.place.path()).expect("own folder").flatten().map(|entry| entry.path());
        found
            .filter(|path| {
                path.to_string_lossy().contains(".part-")
                    && path.extension().is_some_and(|own| own == "sqlite")
            })
            .collect()
    }

    fn asked(&self, file: &Path, query: &str) -> String {
        let file = file.display().to_string();
        let done = self.place.run(["sql", "--format", "csv", "--results", &file, query]).expect(0);
        done.stdout.lines().skip(1).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

/// One task is cancelled, another one is requeued while it runs; the lost part is measured again.
#[test]
fn tasks_of_an_array_measure_whole_cells_and_a_lost_one_is_named() {
    let Some(site) = Site::new("1s") else { return };
    let Site { slurm, place, .. } = &site;
    // Task 2 never begins.
    let job = slurm.submit(place, &["--array=1-4", "--hold"], "array.sbatch", &["grid.toml", "--beside"]);
    slurm.ask("scancel", &[&format!("{job}_2")]).expect(0);
    slurm.ask("scontrol", &["release", &job]).expect(0);
    slurm.await_state(&job, "3 RUNNING");
    slurm.ask("scontrol", &["requeue", &format!("{job}_3")]).expect(0);
    slurm.await_state(&job, "3 PENDING");
    // Slurm would wait two minutes.
    slurm.ask("scontrol", &["update", &format!("JobId={job}_3"), "StartTime=now"]).expect(0);
    slurm.await_end(&job);
    let (all, said) = site.merged(68);
    assert!(said.contains("part 2 of 4 is missing"), "{said}");
    let again = ["--array=2", "--export=ALL,PGDYNO_PART=2/4"];
    slurm.await_end(&slurm.submit(place, &again, "array.sbatch", &["grid.toml", "--beside"]));
    site.merged(0);
    let cells = "select group_concat(clients || ':' || runs) from (select clients, count(distinct round) runs from v_run group by clients)";
    assert_eq!(site.asked(&all, cells), "\"1:2,2:2,3:2,4:2\"", "{}", site.log());
    assert_eq!(site.asked(&all, "select count(*) from experiment"), "1");
    place.wait_until_quiet(std::time::Duration::from_secs(20));
}

#[test]
fn tasks_of_a_step_make_one_load() {
    let Some(site) = Site::new("1s") else { return };
    let load = ["bench", "-n", "-f", "sleeps.sql", "-c", "6", "-j", "3", "-t", "20"];
    let url = site.server.url();
    let own: Vec<&str> = load.into_iter().chain([url.as_str()]).collect();
    site.slurm.await_end(&site.slurm.submit(&site.place, &["--ntasks=3"], "load.sbatch", &own));
    let (all, _) = site.merged(0);
    let run = "select count(*) || ' ' || sum(clients) || ' ' || sum(ok) || ' ' || (select count(*) from run_part) from v_run";
    assert_eq!(site.asked(&all, run), "1 6 120 3", "{}", site.log());
    let left = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    assert_eq!(site.server.psql(left).trim(), "0");
}
