//! Experiments without a workload: their jobs are what is measured, at each run of the file.

use crate::support::{Place, Server, finish, in_one_line};

#[test]
fn a_file_that_only_prepares_is_done_at_each_run() {
    let (place, server) = (Place::new(), Server::start());
    let tables = format!("[target]\nurl = \"{}\"\n[prepare]\npgbench = {{ scale = 1 }}\n", server.url());
    let file = place.write("tables.toml", &tables);
    let file = file.to_str().unwrap();
    let dry = place.run(["run", file, "--dry-run"]).expect(0);
    assert!(
        dry.stdout.contains("prepare") && in_one_line(&dry.stdout).contains("pgbench -i"),
        "{}",
        dry.stdout
    );
    assert!(!place.results().exists(), "a dry run stores nothing");
    for _ in 0..2 {
        let done =
            place.run(["run", file]).expect(0).says(&["pgdyno table sizes -e tables", "scale 1: about 15"]);
        assert!(
            in_one_line(&done.stdout).contains("client-side generate") && done.stdout.contains("all"),
            "{}",
            done.stdout
        );
    }
    // The same content by another name: the same experiment.
    place.run(["bench", "-i", "-s", "1", &server.url()]).expect(0).says(&["-e tables"]);
    let jobs = "select count(*) || ' ' || count(distinct experiment_id) || ' ' || sum(round) || ' ' || group_concat(sequence, '') \
                from v_run where kind = 'job' and workload = 'pgbench -i'";
    assert_eq!(place.sql(jobs), "3 1 0 012");
    let question = "select question from experiment";
    assert!(place.sql(question).contains("How long does it take to make pgbench's tables"));
    place.run(["run", file, "--again"]).expect(0);
    assert_eq!(place.sql("select count(*) from experiment"), "2");
    place.run(["run", file, "--rounds", "3"]).expect(64).says(&["--rounds"]);
    place.run(["report", "-e", "1"]).expect(0);
    let page = place.path().join("jobs.html");
    place.run(["run", file, "--report", page.to_str().unwrap()]).expect(0);
    assert!(page.exists());
}

#[test]
fn a_load_that_was_saved_is_the_same_experiment() {
    let (place, server) = (Place::new(), Server::start_with_postgis());
    let url = server.url();
    let load = ["osm", "load", "--scale", "0.001", "-d", &url, "--prefix", "other", "--cache", "50"];
    let dry = place.run(load.iter().chain(&["--save", "load.toml", "--dry-run"])).expect(0);
    assert!(!place.path().join("load.toml").exists() && dry.stdout.contains("osm"), "{}", dry.stdout);
    let done = place.run(load.iter().chain(&["--save", "load.toml"])).expect(0);
    assert!(
        done.stdout.contains("other_point") && in_one_line(&done.stdout).contains("program's CPU"),
        "{}",
        done.stdout
    );
    place.run(["run", "load.toml"]).expect(0);
    place.run(load).expect(0).says(&["the same experiment as load, number 1"]);
    assert_eq!(place.sql("select count(distinct experiment_id) || ' ' || count(*) from run"), "1 3");
    assert_eq!(server.psql("select count(*) from pgdyno.prepared"), "1");
}

#[test]
fn the_servers_of_an_experiment_are_probed_before_its_runs() {
    let (place, server) = (Place::new(), Server::start());
    place.write("one.sql", "SELECT 1;\n");
    let probe = "[probe]\ntime = \"2s\"\nspace = \"64MB\"\n";
    let alone = format!("[target]\nurl = \"{}\"\n{probe}", server.url());
    let with_runs = format!(
        "question = \"?\"\n{alone}[workload.one]\npgbench = {{ files = \"one.sql\" }}\n\
         [measure]\nduration = \"300ms\"\nwarmup = \"0s\"\nrounds = 2\n"
    );
    let alone = place.write("alone.toml", &alone);
    let with_runs = place.write("runs.toml", &with_runs);
    let done = place.run(["run", alone.to_str().unwrap()]).expect(0).says(&["pgdyno probe --compare"]);
    assert!(in_one_line(&done.stdout).contains("CPU, one backend"), "{}", done.stdout);
    // What the command does is the same experiment, whatever its limits are.
    place.run(["probe", &server.url(), "--time", "3s", "--read-only"]).expect(0);
    let probes = "select count(distinct experiment_id) || ' ' || count(*) from v_run where workload = 'probe' and round = 0";
    assert_eq!(place.sql(probes), "1 2");
    let done = place.run(["run", with_runs.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(place.sql(probes), "2 3");
    assert_eq!(place.sql("select count(*) from run where kind = 'client' and round > 0"), "2");
    assert_eq!(server.psql("select count(*) from pg_namespace where nspname like 'pgdyno%'"), "0");
    let compared = place.run(["probe", "--compare"]).expect(0).stdout;
    assert!(compared.starts_with("1  ") && !compared.contains("\n2  "), "one server: {compared}");
    place.run(["report", "-e", "runs"]).expect(0);
    place.run(["report", "-e", "alone"]).expect(65).says(&["a probe has no report"]);
}

/// The password is used, and neither stored nor printed.
#[test]
fn a_password_of_a_job_is_kept_nowhere() {
    let (place, server) = (Place::new(), Server::start());
    server.psql("grant create on schema public to scram; grant create on database postgres to scram");
    let url = server.network_url("scram", "geheim", "?sslmode=disable");
    let done = finish(place.command(["bench", "-i", "-q", &url])).expect(0);
    assert!(!done.stdout.contains("geheim") && !done.stderr.contains("geheim"), "{}", done.stderr);
    let stored = std::fs::read(place.results()).unwrap();
    assert!(!stored.windows(6).any(|bytes| bytes == b"geheim"));
    let without = url.replace(":geheim@", "@");
    let mut command = place.command(["bench", "-i", "-q", &without]);
    command.env("PGPASSWORD", "geheim");
    finish(command).expect(0);
    assert_eq!(place.sql("select count(*) from experiment"), "1");
}

/// Jobs on two versions had a mean, and only the first version was named.
#[test]
fn jobs_on_another_version_are_another_experiment() {
    let (place, server) = (Place::new(), Server::start());
    let init = || drop(place.run(["bench", "-i", "-s", "1", &server.url()]).expect(0));
    init();
    init();
    place.with_fact("{\"server_version\"%", "'$.server_version.version', '9.6'", init);
    let runs = "select group_concat(runs, ' ') from (select count(*) as runs from run group by experiment_id order by experiment_id)";
    assert_eq!(place.sql(runs), "2 1");
}
