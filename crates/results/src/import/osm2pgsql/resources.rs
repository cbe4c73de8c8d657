//! The output of `time` at the end of a program: GNU time's short and long forms, and the shells' formats.

use spec::figures::{self, Figure, Figures};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Resources {
    /// The same figures as for a load by pgdyno.
    pub(super) figures: Figures,
    pub(super) failed: Option<String>,
}

impl Resources {
    pub(super) fn take(&mut self, line: &str) {
        let line = line.trim();
        if let Some((of, value)) = long(line).or_else(|| of_shell(line)) {
            self.figures.set(of, value);
        } else if line.contains("elapsed") && line.contains("user ") {
            self.short(line);
        } else if let Some(status) = line.strip_prefix("Exit status: ") {
            if status != "0" {
                self.failed = Some(format!("osm2pgsql ended with exit status {status}"));
            }
        } else if let Some(how) = line.strip_prefix("Command ")
            && (how.starts_with("exited with non-zero status") || how.starts_with("terminated by signal"))
        {
            self.failed = Some(format!("osm2pgsql {how}"));
        }
    }

    /// `0.93user 0.12system 0:03.95elapsed 26%CPU (0avgtext+0avgdata 137000maxresident)k`.
    fn short(&mut self, line: &str) {
        for word in line.split_whitespace() {
            let mut figure = |end: &str, of: Figure, factor: f64| {
                let value = word.strip_suffix(end).map(|number| number.trim_start_matches("0avgdata"));
                if let Some(value) = value.and_then(clock) {
                    self.figures.set(of, value * factor);
                }
            };
            figure("user", figures::CHILD_USER_CPU_S, 1.0);
            figure("system", figures::CHILD_SYSTEM_CPU_S, 1.0);
            figure("elapsed", figures::CHILD_WALL_S, 1.0);
            figure("maxresident)k", figures::CHILD_MAX_RSS_BYTES, 1024.0);
        }
    }
}

/// `Maximum resident set size (kbytes): 1058456`, a line of `time -v`.
fn long(line: &str) -> Option<(Figure, f64)> {
    let number = |start: &str| line.strip_prefix(start).and_then(clock);
    let figures = [
        ("User time (seconds): ", figures::CHILD_USER_CPU_S, 1.0),
        ("System time (seconds): ", figures::CHILD_SYSTEM_CPU_S, 1.0),
        ("Elapsed (wall clock) time (h:mm:ss or m:ss): ", figures::CHILD_WALL_S, 1.0),
        ("Maximum resident set size (kbytes): ", figures::CHILD_MAX_RSS_BYTES, 1024.0),
    ];
    figures.into_iter().find_map(|(start, of, factor)| Some((of, number(start)? * factor)))
}

/// `real 1m35.220s`, as bash and zsh write it; `user 0.93`, as POSIX has it.
fn of_shell(line: &str) -> Option<(Figure, f64)> {
    let (name, value) = line.split_once(char::is_whitespace)?;
    let of = match name {
        "real" => figures::CHILD_WALL_S,
        "user" => figures::CHILD_USER_CPU_S,
        "sys" => figures::CHILD_SYSTEM_CPU_S,
        _ => return None,
    };
    let value = value.trim().trim_end_matches('s').replace(['m', 'h'], ":");
    Some((of, clock(&value)?))
}

fn clock(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    for part in text.trim().split(':') {
        // Locales have a comma.
        let part: f64 =
            part.replace(',', ".").parse().ok().filter(|part: &f64| part.is_finite() && *part >= 0.0)?;
        seconds = seconds * 60.0 + part;
    }
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Resources {
        let mut resources = Resources::default();
        text.lines().for_each(|line| resources.take(line));
        resources
    }

    #[test]
    fn every_way_of_timing_is_read() {
        let wanted = Figures::from([
            (figures::CHILD_USER_CPU_S, 60.5),
            (figures::CHILD_SYSTEM_CPU_S, 73.0),
            (figures::CHILD_WALL_S, 95.8),
            (figures::CHILD_MAX_RSS_BYTES, 1_024_000.0),
        ]);
        let long = "\tUser time (seconds): 60.5\n\tSystem time (seconds): 73.00\n\tPercent of CPU this job got: 99%\n\
                    \tElapsed (wall clock) time (h:mm:ss or m:ss): 1:35.80\n\tMaximum resident set size (kbytes): 1000\n\
                    \tExit status: 0\n";
        let short = "60.50user 73.00system 1:35.80elapsed 99%CPU (0avgtext+0avgdata 1000maxresident)k\n\
                     0inputs+0outputs (0major+0minor)pagefaults 0swaps\n";
        let bash = "\nreal\t1m35.800s\nuser\t1m0.500s\nsys\t1m13.000s\n";
        assert_eq!(taken(short), Resources { figures: wanted.clone(), failed: None });
        assert_eq!(taken(long).figures, wanted);
        assert_eq!(taken(bash).figures[figures::CHILD_WALL_S], 95.8);
        assert_eq!(taken("real 95.8\nuser 60.5\nsys 73").figures.iter().count(), 3);
        assert_eq!(taken("real\t1h2m3,250s").figures[figures::CHILD_WALL_S], 3723.25, "a locale with commas");
        assert_eq!(
            taken("1,50user 0,25system 0:02,00elapsed 87%CPU").figures[figures::CHILD_USER_CPU_S],
            1.5
        );
        assert_eq!(taken("real estate\n\nuser friendly"), Resources::default());
        assert_eq!(
            taken("Elapsed (wall clock) time (h:mm:ss or m:ss): 26:01:00").figures[figures::CHILD_WALL_S],
            93_660.0
        );
    }

    #[test]
    fn a_bad_end_is_told() {
        for line in
            ["Command exited with non-zero status 1", "Command terminated by signal 9", "\tExit status: 1"]
        {
            assert!(taken(line).failed.is_some(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "\\PC{0,60}") {
            let _ = taken(&line);
        }
    }
}
