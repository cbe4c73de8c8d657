//! Words of shells, containers and kernels about a program that ended before its time. `resources` reads the
//! words of `time`.

const KILLED: &str = "killed, most likely out of memory";

/// What a line says about the end of a load: killed (SIGKILL is what a kernel out of memory sends), crashed,
/// ended by another signal, cut off from its terminal; `None` for another line. `container` is the load's, if
/// its lines name one: others end, too.
pub(super) fn how(line: &str, container: Option<&str>) -> Option<String> {
    if was_killed(line) {
        return Some(KILLED.to_owned());
    }
    if line.contains("std::bad_alloc") {
        return Some("out of memory (std::bad_alloc)".to_owned());
    }
    by_status(line, container).or_else(|| by_words(line).map(str::to_owned))
}

fn was_killed(line: &str) -> bool {
    const WORDS: [&str; 4] = [" Killed ", "signal: killed", "died with <Signals.SIGKILL: 9>", "OOMKilled"];
    let is_kernel = || {
        (line.contains("Out of memory: Kill") || line.contains("oom-kill") || line.contains("Killed process"))
            && line.contains("osm2pgsql")
    };
    last_word(line) == "Killed" || WORDS.iter().any(|words| line.contains(words)) || is_kernel()
}

/// `osm_1 exited with code 143`, `exit status 1`, `code=killed, status=15/TERM`.
fn by_status(line: &str, container: Option<&str>) -> Option<String> {
    const WORDS: [&str; 5] =
        ["exited with code ", "exited with status ", "exit code ", "exit status ", "exit code: "];
    let (before, rest) = WORDS.iter().find_map(|words| line.split_once(words))?;
    // `project_NAME_1 exited` is of the lines `NAME_1  | `.
    let named = before.trim().rsplit(' ').next().unwrap_or_default();
    if container.is_some_and(|own| !named.is_empty() && before.trim() == named && !named.ends_with(own)) {
        return None;
    }
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let code: u32 = rest[..digits].parse().ok()?;
    // A shell adds 128 to the number of the signal.
    Some(match code {
        0 => return None,
        137 => KILLED.to_owned(),
        130 => "interrupted (SIGINT, exit code 130)".to_owned(),
        134 => "it was aborted (SIGABRT, exit code 134)".to_owned(),
        139 => "it crashed: segmentation fault (exit code 139)".to_owned(),
        143 => "it was terminated (SIGTERM, exit code 143), as when a container is stopped".to_owned(),
        code => format!("it ended with exit code {code}"),
    })
}

fn by_words(line: &str) -> Option<&'static str> {
    const WITHIN: [(&str, &str); 8] = [
        ("Segmentation fault", "it crashed: segmentation fault"),
        ("Illegal instruction", "it crashed: illegal instruction"),
        ("Bus error", "it crashed: bus error"),
        (" Aborted ", "it was aborted"),
        (" Terminated ", "it was terminated (SIGTERM)"),
        ("signal: terminated", "it was terminated (SIGTERM)"),
        ("client_loop: send disconnect", "the connection to its terminal was lost (ssh)"),
        ("closed by remote host", "the connection to its terminal was lost (ssh)"),
    ];
    const LAST: [(&str, &str); 5] = [
        ("Aborted", "it was aborted"),
        ("Terminated", "it was terminated (SIGTERM)"),
        ("Hangup", "its terminal was closed (SIGHUP)"),
        ("^C", "interrupted (Ctrl-C)"),
        ("Broken pipe", "the connection to its terminal was lost (Broken pipe)"),
    ];
    if line.contains("ERROR:") {
        return None;
    }
    let within = WITHIN.iter().find(|(words, _)| line.contains(words));
    let end = line.trim().trim_end_matches("(core dumped)").trim_end();
    let is_last = |words: &str| {
        let before = end.strip_suffix(words);
        before.is_some_and(|before| words == "^C" || !before.ends_with(|c: char| c.is_alphanumeric()))
    };
    within.or_else(|| LAST.iter().find(|(words, _)| is_last(words))).map(|(_, how)| *how)
}

fn last_word(line: &str) -> &str {
    line.rsplit(['|', ')', '>', ']', ' ']).next().unwrap_or(line).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_it_is_known() {
        for line in [
            "Killed",
            "import_1  | Killed",
            "Processing: Node(5k 1.0k/s) Way(0k 0.00k/s) Relation(0 0.00/s)Killed",
            "Relation(0 0.00/s)/run.sh: line 44:   101 Killed                  sudo -u renderer osm2pgsql -d gis a.pbf",
            "osm_import_1 exited with code 137",
            "May 25 kernel: [1.2] Out of memory: Kill process 18243 (osm2pgsql) score 992 or sacrifice child",
        ] {
            assert_eq!(how(line, None).as_deref(), Some(KILLED), "{line}");
        }
        for (line, wanted) in [
            (
                "terminate called after throwing an instance of 'std::bad_alloc'",
                "out of memory (std::bad_alloc)",
            ),
            ("Relation(0 0.00/s)Aborted (core dumped)", "it was aborted"),
            ("./load.sh: line 9: 4711 Aborted                 osm2pgsql x.pbf", "it was aborted"),
            ("Relation(7 1.00/s)Segmentation fault", "it crashed: segmentation fault"),
            ("gis-import-1 exited with code 139", "it crashed: segmentation fault (exit code 139)"),
            ("command terminated with exit code 3", "it ended with exit code 3"),
            ("Relation(0 0.0/s)^C", "interrupted (Ctrl-C)"),
            ("Connection to db7 closed by remote host.", "the connection to its terminal was lost (ssh)"),
            (
                "packet_write_wait: Connection to 10.0.0.7 port 22: Broken pipe",
                "the connection to its terminal was lost (Broken pipe)",
            ),
            ("Hangup", "its terminal was closed (SIGHUP)"),
        ] {
            assert_eq!(how(line, None).as_deref(), Some(wanted), "{line}");
        }
        for line in [
            "Killed process 3 (firefox)",
            "exited with code 0",
            "Skilled",
            "osm2pgsql took 5s overall",
            "ERROR: could not send data to server: Broken pipe",
            "Wayterminated",
            "NOTICE: exit codes",
        ] {
            assert_eq!(how(line, None), None, "{line}");
        }
    }

    #[test]
    fn other_containers_end_too() {
        assert_eq!(how("gis-db-1 exited with code 1", Some("load-1")), None);
        assert!(how("gis-load-1 exited with code 1", Some("load-1")).is_some());
        assert!(how("load-1 exited with code 143", Some("load-1")).is_some());
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "\\PC{0,30}(exited with code )?\\PC{0,10}") {
            let _ = how(&line, Some("a"));
        }
    }
}
