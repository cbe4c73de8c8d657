//! Words of shells, containers and kernels about a program that the system ended. `resources` reads the words
//! of `time`.

/// Whether a line says that the load was killed: with SIGKILL, which is what a kernel out of memory sends.
pub(super) fn was_killed(line: &str) -> bool {
    const WORDS: [&str; 7] = [
        " Killed ",
        "exited with code 137",
        "exit code 137",
        "exit status 137",
        "signal: killed",
        "died with <Signals.SIGKILL: 9>",
        "OOMKilled",
    ];
    let is_kernel = || {
        (line.contains("Out of memory: Kill") || line.contains("oom-kill") || line.contains("Killed process"))
            && line.contains("osm2pgsql")
    };
    let last = line.rsplit(['|', ')', '>', ']', ' ']).next().unwrap_or(line);
    last.trim() == "Killed" || WORDS.iter().any(|words| line.contains(words)) || is_kernel()
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
            assert!(was_killed(line), "{line}");
        }
        for line in
            ["Killed process 3 (firefox)", "exited with code 0", "Skilled", "osm2pgsql took 5s overall"]
        {
            assert!(!was_killed(line), "{line}");
        }
    }
}
