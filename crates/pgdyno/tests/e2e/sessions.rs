//! Sessions that are kept from round to round, and what changes with their age.

use crate::support::{Place, in_one_line};

/// In one arm each execution does more than the one before in the same session, by a share: so its cost grows as its age
/// does, on a host of any speed.
const SLOWS: &str = "DO $$ DECLARE age int := coalesce(nullif(current_setting('my.age', true), ''), '0')::int + 1; BEGIN \
    PERFORM set_config('my.age', age::text, false); \
    IF current_setting('geqo_threshold') = '11' THEN FOR step IN 1..(500 * power(1.00125, age))::int LOOP NULL; END LOOP; END IF; END $$;\nSELECT 1;\n";

const EXPERIMENT: &str = r#"
question = "Does it age?"
[target]
managed = {}
[workload.ask]
pgbench = { files = ["ask.sql"] }
[factors]
clients = 2
[compare]
factor = "settings"
base = "steady"
[settings.steady]
geqo_threshold = 10
[settings.aging]
geqo_threshold = 11
[measure]
warmup = "100ms"
duration = "1s"
rounds = 8
keep_sessions = KEPT
"#;

fn experiment(place: &Place, kept: bool) -> String {
    place.write("ask.sql", SLOWS);
    let text = EXPERIMENT.replace("KEPT", &kept.to_string());
    place.write("age.toml", text).to_str().unwrap().to_owned()
}

#[test]
fn an_arm_that_slows_with_the_age_of_its_kept_sessions_is_named() {
    let place = Place::with_private("default");
    let file = experiment(&place, true);
    place.run(["run", "--dry-run", &file]).expect(0).says(&["sessions are kept over all rounds"]);
    let page = place.path().join("page.html");
    let done = place.run(["run", &file, "-v", "--report", page.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let said = in_one_line(&done.stdout);
    for wanted in [
        "aging slows with the session's age",
        "of CPU per transaction in",
        "the mean depends on the length of a session:",
    ] {
        assert!(said.contains(wanted), "{wanted}: {}", done.stdout);
    }
    // Each round goes on where the round before ended.
    let ages = "select group_concat(value > 0, ' ') from (select value from run_figure join run using (run_id) \
                where name = 'session_age_s' and arm = 'aging' order by round)";
    assert_eq!(place.sql(ages).trim_matches('"'), "0 1 1 1 1 1 1 1");
    let grows = "select count(*) from (select value, lag(value) over (partition by arm order by round) as before \
                 from run_figure join run using (run_id) where name = 'session_age_s') where value - before < 0.5";
    assert_eq!(place.sql(grows), "0");
    // Memory was read between the slices.
    let memory = "select count(*) from (select run_id from sample where source = 'backends' \
                  group by run_id having count(*) > 1)";
    assert_eq!(place.sql(memory), "16");
    let table = place.run(["table", "aging", "--format", "csv"]).expect(0).stdout;
    let claims = |quantity: &str| {
        let wanted = format!("aging,{quantity},yes");
        table.lines().any(|line| line.contains(&wanted))
    };
    assert!(claims("server_cpu_us_per_tx") && !claims("backends_private_bytes"), "{table}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("over the age of sessions") && page.contains("id=\"aging\""));
}

#[test]
fn sessions_are_new_in_each_round_unless_they_are_kept() {
    let place = Place::with_private("default");
    let file = experiment(&place, true);
    let plan = place.run(["run", "--dry-run", &file, "--keep-sessions", "false"]).expect(0);
    assert!(!in_one_line(&plan.stdout).contains("sessions are kept"), "{}", plan.stdout);
    let done = place.run(["run", &file, "--keep-sessions", "false", "--rounds", "2"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(place.sql("select count(*) from run_figure where name = 'session_age_s'"), "0");
    let uncut = ["run", "--dry-run", &file, "--slices", "false"];
    place.run(uncut).expect(0).says(&["sessions are new in each round, although keep_sessions is set"]);
}
