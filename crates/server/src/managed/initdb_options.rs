//! Options of initdb that a user may add to ours.

/// Options that say what pgdyno decides: folders, the superuser, and who may log in.
const OURS: [&str; 11] = [
    "--pgdata",
    "--username",
    "--auth",
    "--auth-local",
    "--auth-host",
    "--pwprompt",
    "--pwfile",
    "--waldir",
    "--set",
    "--show",
    "--sync-only",
];

const OURS_IN_SHORT: [&str; 6] = ["-D", "-U", "-A", "-W", "-X", "-L"];

/// Short options that have a value, as `-EUTF8`.
const WITH_VALUE: [&str; 2] = ["-E", "-T"];
/// Short options without one.
const FLAGS: [&str; 3] = ["-k", "-N", "-S"];

/// Checks an option of initdb: a whole word, with its value: `--wal-segsize=64`, `-k`. A patch may add further ones, so
/// long options that pgdyno does not know are initdb's to refuse.
///
/// # Errors
/// As text, advice on a separate line.
pub fn check_initdb_option(option: &str) -> Result<(), String> {
    let name = option.split('=').next().unwrap_or_default();
    if name == "--set" || option.starts_with("-c") {
        return Err(format!(
            "{option}: settings are not options of initdb here\nwrite them as settings of the build"
        ));
    }
    // initdb takes beginnings of long options.
    let is_ours = (name.len() > 2 && OURS.iter().any(|ours| ours.starts_with(name)))
        || OURS_IN_SHORT.iter().any(|ours| name.starts_with(ours));
    let is_long = option.starts_with("--") && name.len() > 3;
    let is_short = FLAGS.contains(&option)
        || WITH_VALUE.iter().any(|short| option.strip_prefix(short).is_some_and(|value| !value.is_empty()));
    match is_ours {
        false if (is_long || is_short) && !option.chars().any(char::is_control) => Ok(()),
        true => Err(format!("{option}: pgdyno decides that\nleave it out")),
        false => Err(format!(
            "invalid option of initdb: {option:?}\nwrite --wal-segsize=64, --no-data-checksums, --locale=C or the like, each with its value as one word"
        )),
    }
}

/// Whether they choose a locale, in place of C.UTF-8.
pub(super) fn names_a_locale(options: &[String]) -> bool {
    options.iter().any(|option| option.starts_with("--locale=") || option == "--no-locale")
}

/// The options with pgdyno's, UTF-8 and checksums, unless they say otherwise.
pub(super) fn with_ours(options: &[String], major: u32) -> Vec<String> {
    const WITHOUT: &str = "--no-data-checksums";
    // The option came with 18; before, checksums were off unless asked for.
    let knows = major >= 18;
    let checks = !options.iter().any(|option| option == WITHOUT);
    let has_encoding =
        options.iter().any(|option| option.starts_with("-E") || option.starts_with("--encoding"));
    let encoding = (!has_encoding).then(|| "--encoding=UTF8".to_owned());
    let checksums = checks.then(|| "--data-checksums".to_owned());
    let own = options.iter().filter(|option| knows || *option != WITHOUT).cloned();
    encoding.into_iter().chain(checksums).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_pgdyno_decides_are_refused_and_others_go_to_initdb() {
        for fine in [
            "--wal-segsize=64",
            "-k",
            "-EUTF8",
            "--no-data-checksums",
            "--new-thing-of-a-patch=1",
            "--no-locale",
        ] {
            assert_eq!(check_initdb_option(fine), Ok(()), "{fine}");
        }
        for wrong in [
            "-D",
            "-D/x",
            "--pgdata=/x",
            "--pgd=/x",
            "-kD",
            "-c",
            "--set=x=1",
            "-A",
            "x",
            "",
            "--",
            "-E",
            "--x\n",
            "--waldir=/x",
            "-X/x",
            "-Lx",
        ] {
            assert!(check_initdb_option(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ours_give_way() {
        let of = |options: &[&str], major| {
            with_ours(&options.iter().map(|&one| one.to_owned()).collect::<Vec<_>>(), major).join(" ")
        };
        assert_eq!(of(&[], 15), "--encoding=UTF8 --data-checksums");
        assert_eq!(of(&["--no-data-checksums", "-ESQL_ASCII"], 15), "-ESQL_ASCII");
        assert_eq!(of(&["--no-data-checksums"], 18), "--encoding=UTF8 --no-data-checksums");
        assert_eq!(of(&["--wal-segsize=64"], 15), "--encoding=UTF8 --data-checksums --wal-segsize=64");
        assert!(names_a_locale(&["--locale=C".into()]) && !names_a_locale(&["--lc-messages=C".into()]));
    }
}
