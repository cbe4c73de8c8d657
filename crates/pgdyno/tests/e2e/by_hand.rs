//! Levels that a person sets: sets of runs, and their comparison.

use crate::support::{Place, Server, in_one_line};

fn study(url: &str) -> String {
    format!(
        "question = \"Is the other kernel faster?\"\n[target]\nurl = \"{url}\"\n\
         [workload.asks]\npgbench = {{ files = [\"ask.sql\"] }}\n[factors]\nclients = [1, 2]\n\
         [by_hand]\nkernel = [\"6.1\", \"6.12\"]\n\
         [measure]\nwarmup = \"20ms\"\nduration = \"200ms\"\nrounds = 2\nsets = 2\nexplain = false\n"
    )
}

fn prepared() -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    place.write("ask.sql", "SELECT 1;\n");
    place.write("kernel.toml", study(&server.url()));
    (place, server)
}

#[test]
fn levels_set_by_hand_are_compared_by_their_sets() {
    let (place, _server) = prepared();
    let set = |level: &str| place.run(["run", "kernel.toml", "--level", &format!("kernel={level}")]);
    set("6.1")
        .expect(2)
        .says(&["next: set kernel to 6.12, then: pgdyno run kernel.toml --level kernel=6.12"]);
    let says = |text: String, words: &str| {
        let text = in_one_line(&text);
        assert!(text.contains(words), "no {words:?} in {text}");
    };
    says(set("6.12").expect(2).stdout, "one set each: no error can be known");
    says(place.run(["compare"]).expect(2).says(&["not interleaved"]).stdout, "no error can be known");
    // The spread within a set is no error: one set of a level is not enough, however many rounds it has.
    says(set("6.1").expect(2).stdout, "one set of a level: no error can be known");
    let last = set("6.12");
    assert!(matches!(last.status.code(), Some(0..=2)), "{}", last.stderr);
    let last = last.says(&["all sets are there: kernel 6.1: 2 of 2 sets, 6.12: 2"]);
    says(last.stdout, "2 sets of each level of 2 cells");
    set("6.12").expect(64).says(&["kernel 6.12 has all of its sets", "--sets 3"]);
    let n = place
        .sql("select count(*) from run r join experiment using (experiment_id) where order_scheme = 'sets'");
    assert_eq!(n, "16");

    let mean = place.run(["table", "cross", "--format", "csv"]).expect(0).stdout;
    assert!(mean.starts_with("kernel,1,2\r\n6.1,") || mean.starts_with("kernel,1,2\n6.1,"), "{mean}");
    let change = ["table", "cross", "--change", "6.1", "--statistic", "max", "--format", "csv"];
    let change = place.run(change).expect(0).stdout;
    assert!(change.starts_with("kernel,1,2,median") && change.contains("6.12,"), "{change}");
    place.run(["table", "cross", "--rows", "kernal"]).expect(64).says(&["did you mean kernel?"]);
    place.run(["table", "runs", "--rows", "kernel"]).expect(64).says(&["pgdyno table cross"]);
}

#[test]
fn a_level_is_one_of_the_file_and_is_asked_for() {
    let (place, server) = prepared();
    place.run(["run", "kernel.toml"]).expect(64).says(&["kernel is set by hand", "--level kernel=6.1"]);
    let wrong = [
        ("kernel=6.13", "kernel cannot be \"6.13\""),
        ("memory=6.1", "it is kernel that is set by hand"),
        ("6.1", "it is kernel that is set by hand"),
    ];
    for (level, words) in wrong {
        place.run(["run", "kernel.toml", "--level", level]).expect(64).says(&[words]);
    }
    place
        .run(["run", "kernel.toml", "--rounds", "4", "--level", "kernel=6.1"])
        .expect(64)
        .says(&["--sets N"]);
    let other = study(&server.url())
        .replace("[by_hand]\nkernel = [\"6.1\", \"6.12\"]\n", "")
        .replace("sets = 2\n", "");
    place.write("other.toml", other);
    place
        .run(["run", "other.toml", "--level", "kernel=6.1"])
        .expect(64)
        .says(&["no factor of this experiment"]);
}

#[test]
fn single_runs_at_levels_set_by_hand_are_sets() {
    let (place, server) = prepared();
    let url = server.url();
    let bench = |level: &str| place.run(["bench", "-n", "-f", "ask.sql", "-T", "1", "--level", level, &url]);
    bench("memory=3200").expect(0).says(&["sets of memory so far: 3200: 1"]);
    bench("memory=2133").expect(0).says(&["3200: 1, 2133: 1", "pgdyno compare"]);
    bench("memory=3200").expect(0);
    bench("memory=2133").expect(0).says(&["3200: 2, 2133: 2"]);
    let compared = in_one_line(&place.run(["compare"]).stdout);
    assert!(
        compared.contains("with memory 2133 is ") && compared.contains("2 sets of each level"),
        "{compared}"
    );
    place
        .run(["bench", "-n", "-f", "ask.sql", "-t", "5", "--level", "a=b", &url])
        .expect(64)
        .says(&["-T 60"]);
    place
        .run(["bench", "-n", "-f", "ask.sql", "-T", "1", "--level", "fast", &url])
        .expect(64)
        .says(&["memory=3200"]);
}
