//! Shorter runs than those of the pages, by documented options and keys.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use toml::{Table, Value};

/// `pgdyno` for shells: it replaces lengths of runs, rounds and sizes of tables. `PROGRAM` is the program.
const SHORTENED: &str = r#"#!/bin/sh
verb=$1
case "$verb" in bench | tiles | limit | ladder | run | calibrate | probe | pgbench) ;; *) exec PROGRAM "$@" ;; esac
shift
arms= scale= one= limit=1 rounds=2 count=$#
while [ $count -gt 0 ]; do
	word=$1
	shift
	count=$((count - 1))
	case "$word" in
		-T | --time | --duration | --warmup | --seconds | --sets) shift; count=$((count - 1)) ;;
		# They may extend what was measured before.
		--rounds) shift; count=$((count - 1)); rounds=4 ;;
		-s | --scale) shift; count=$((count - 1)); scale="-s 1" ;;
		-t | -i | --dry-run | --compare | --once) one=1; set -- "$@" "$word" ;;
		# They pause: a second may have no transaction.
		--users) limit=6; set -- "$@" "$word" ;;
		--against) arms=1; set -- "$@" "$word" ;;
		*) set -- "$@" "$word" ;;
	esac
done
case "$verb,$arms,$one" in
	bench,1,*) exec PROGRAM bench "$@" $scale -T 1 --warmup 0.1 --rounds $rounds ;;
	bench,,1) exec PROGRAM bench "$@" $scale ;;
	bench,,) exec PROGRAM bench "$@" $scale -T 1 ;;
	pgbench,*,) exec PROGRAM pgbench "$@" $scale -T 1 ;;
	tiles,*,) exec PROGRAM tiles "$@" -T 1 --warmup 0.2 --rounds $rounds ;;
	limit,*) exec PROGRAM limit "$@" $scale -T $limit --warmup 0.2 --width 40 ;;
	run,*,) exec PROGRAM run "$@" --rounds $rounds ;;
	calibrate,*) exec PROGRAM calibrate "$@" --seconds 5 ;;
	probe,*,) exec PROGRAM probe "$@" --time 2s --space 64MB ;;
	*) exec PROGRAM "$verb" "$@" $scale ;;
esac
"#;

/// Puts a `pgdyno` for the pages' commands into a folder.
pub fn put_program(folder: &Path, is_short: bool) {
    let program = env!("CARGO_BIN_EXE_pgdyno");
    let script = match is_short {
        true => SHORTENED.replace("PROGRAM", program),
        false => format!("#!/bin/sh\nexec {program} \"$@\"\n"),
    };
    std::fs::create_dir_all(folder).expect("own folder");
    let path = folder.join("pgdyno");
    std::fs::write(&path, script).expect("own folder");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("own file");
}

/// An experiment file with shorter runs and smaller tables.
pub fn experiment(text: &str) -> String {
    let Ok(mut file) = text.parse::<Table>() else { return text.to_owned() };
    let table = |file: &mut Table, name: &str, values: &[(&str, Value)]| {
        let below = file.entry(name).or_insert_with(|| Value::Table(Table::new()));
        for (key, value) in values {
            if let Value::Table(table) = below {
                table.insert((*key).to_owned(), value.clone());
            }
        }
    };
    if file.contains_key("workload") {
        if let Some(Value::Table(measure)) = file.get_mut("measure") {
            measure.remove("budget");
        }
        let lengths = [("duration", "500ms".into()), ("warmup", "200ms".into()), ("rounds", 2.into())];
        table(&mut file, "measure", &lengths);
    }
    if let Some(Value::Table(pgbench)) =
        file.get_mut("prepare").and_then(|prepare| prepare.get_mut("pgbench"))
    {
        pgbench.insert("scale".to_owned(), 1.into());
    }
    file.to_string()
}

#[test]
fn files_are_shortened() {
    let short = experiment(
        "[prepare]\npgbench = { scale = 10 }\n[workload.a]\npgbench = {}\n[measure]\nbudget = \"1h\"\n",
    );
    for part in ["scale = 1\n", "duration = \"500ms\"", "rounds = 2", "[workload.a.pgbench]"] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert!(!short.contains("budget"), "{short}");
    assert!(!experiment("[prepare]\nosm = { extract = \"a\" }\n").contains("measure"));
}
