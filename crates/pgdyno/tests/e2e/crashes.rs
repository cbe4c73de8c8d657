//! A server process that crashes under the load is a result of its arm, and not the end of the experiment.

use std::time::{Duration, Instant};

use crate::support::{Place, Watched, in_one_line};

/// Each arm has a separate server.
const STUDY: &str = r#"
question = "Is the patch faster?"
[target]
managed = { name = "crash" }
[workload.ask]
pgbench = { files = ["ask.sql"] }
[compare]
factor = "settings"
base = "stock"
[settings.stock]
shared_buffers = "32MB"
[settings.patched]
shared_buffers = "48MB"
[measure]
warmup = "50ms"
duration = "1500ms"
rounds = ROUNDS
"#;

const ASK: &str = "SELECT 1;\nDO $$ BEGIN IF current_setting('shared_buffers') = '48MB' THEN \
                   COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; FIRST && kill -ABRT $PPID; true'; END IF; END $$;\n";

/// Longest time for all of it, recoveries included: a stop in the middle of one took two minutes.
const PATIENCE: Duration = Duration::from_secs(100);

/// What was printed, after a crash was asked for in the first round.
fn run(place: &Place, first: &str, rounds: u32) -> (Option<i32>, String, String) {
    let armed = place.open_folder().join("armed");
    let first = first.replace("ARMED", armed.to_str().expect("UTF-8"));
    place.write("ask.sql", ASK.replace("FIRST", &first));
    place.write("patch.toml", STUDY.replace("ROUNDS", &rounds.to_string()));
    let begun = Instant::now();
    let mut running = Watched::start(place.command(["run", "-v", "patch.toml"]));
    assert!(running.until("step: measure"), "it measures");
    std::fs::write(&armed, "").expect("a writable folder");
    std::fs::set_permissions(&armed, std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .expect("it is ours");
    let (status, said) = running.end();
    assert!(begun.elapsed() < PATIENCE, "{:?}\n{said}", begun.elapsed());
    let answer = place.run(["report", "--format", "mail"]).expect(0).stdout;
    (status.code(), said, in_one_line(&answer))
}

#[test]
fn a_crash_is_named_and_stored_and_the_next_round_goes_on() {
    let place = Place::new();
    let (code, said, answer) = run(&place, "rm ARMED 2>/dev/null", 4);
    assert_eq!(code, Some(1), "a crash that the base does not have is worse\n{said}");
    for text in [&said, &answer] {
        for words in [
            "patched crashed in round 1 (signal 6)",
            "was terminated by signal 6: Aborted",
            "Failed process was running: DO 'x'",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(!text.contains("kill -ABRT"), "literals of statements may be secrets\n{text}");
    }
    assert!(answer.contains("(signal 6), and stock did not: worse, whatever its speed"), "{answer}");
    let of = |what: &str| place.sql(&format!("select count(*) from run where arm = 'patched' and {what}"));
    assert_eq!(of("round = 1 and validity = 'invalid'"), "1", "{said}");
    assert_eq!(of("round > 1 and validity <> 'invalid'"), "3", "{said}");
    assert_eq!(place.sql("select count(*) from run_doubt where reason = 'crashed'"), "1");
}

#[test]
fn an_arm_that_crashes_in_three_rounds_is_left_out() {
    let place = Place::new();
    let (code, said, answer) = run(&place, "test -e ARMED", 6);
    assert_eq!(code, Some(1), "{said}");
    let words =
        "patched crashed in rounds 1, 2 and 3 (signal 6), and stock did not; its other runs were left out";
    assert!(answer.contains(words), "{said}\n{answer}");
    assert_eq!(place.sql("select count(*) from run where arm = 'patched'"), "3", "{said}");
}
