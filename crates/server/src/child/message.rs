//! Messages of a watchdog over the lifeline, one line each.

use std::fmt;

/// How a program ended, and its resource usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgramEnd {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// User CPU time of it and the children it waited for, µs.
    pub user_us: u64,
    /// System CPU time, µs.
    pub system_us: u64,
    /// Largest resident memory of any of these processes, bytes.
    pub max_rss_bytes: u64,
}

impl ProgramEnd {
    /// Whether it exited with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for ProgramEnd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(out, "exit code {code}"),
            (None, Some(signal)) => write!(out, "signal {signal}"),
            (None, None) => out.write_str("unknown end"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchdogMessage {
    /// Pid of the program.
    Started(u32),
    Failed(String),
    /// A process that the program left running, and that was ended: name and pid.
    Stray(String),
    Ended(ProgramEnd),
}

impl WatchdogMessage {
    /// The line, with its end.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Failed(reason) => format!("failed {}\n", reason.replace('\n', " ")),
            Self::Stray(process) => format!("stray {}\n", process.replace('\n', " ")),
            Self::Ended(ended) => format!(
                "ended {} {} {} {} {}\n",
                number(ended.code),
                number(ended.signal),
                ended.user_us,
                ended.system_us,
                ended.max_rss_bytes
            ),
        }
    }

    /// Parses a line without its end; `None` for an unknown one.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "started" => rest.parse().ok().map(Self::Started),
            "failed" => Some(Self::Failed(rest.to_owned())),
            "stray" => Some(Self::Stray(rest.to_owned())),
            "ended" => parse_ended(rest).map(Self::Ended),
            _ => None,
        }
    }
}

fn number(value: Option<i32>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn parse_ended(rest: &str) -> Option<ProgramEnd> {
    let mut words = rest.split(' ');
    let mut optional = || -> Option<Option<i32>> {
        match words.next()? {
            "-" => Some(None),
            word => word.parse().ok().map(Some),
        }
    };
    let (code, signal) = (optional()?, optional()?);
    let mut figure = || words.next()?.parse().ok();
    Some(ProgramEnd { code, signal, user_us: figure()?, system_us: figure()?, max_rss_bytes: figure()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_survive_the_way(
            code in proptest::option::of(any::<i32>()),
            signal in proptest::option::of(any::<i32>()),
            user_us in any::<u64>(),
            pid in any::<u32>(),
            reason in "[^\n]*",
        ) {
            let ended = ProgramEnd { code, signal, user_us, system_us: 7, max_rss_bytes: 9 };
            let stray = WatchdogMessage::Stray(reason.clone());
            for message in
                [WatchdogMessage::Ended(ended), WatchdogMessage::Started(pid), WatchdogMessage::Failed(reason), stray]
            {
                let line = message.line();
                prop_assert_eq!(WatchdogMessage::parse(line.strip_suffix('\n').unwrap()), Some(message));
            }
        }

        #[test]
        fn no_line_panics(line in ".*") {
            let _ = WatchdogMessage::parse(&line);
        }
    }
}
