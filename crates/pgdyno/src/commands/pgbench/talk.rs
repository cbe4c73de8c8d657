//! What the drop-in says on standard error, worded and coloured as PostgreSQL's programs do.

use std::ffi::OsString;
use std::io::IsTerminal;

use ::report::visible;

use crate::{print, secrets};

/// How the program calls itself.
pub(crate) const NAME: &str = "pgbench";

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The text as it is, without the program's name.
    Plain,
    /// A step, shown with `--debug` only.
    Debug,
    /// What happened.
    Info,
    /// `warning:`
    Warning,
    /// `error:`
    Error,
    /// `detail:` of the message before.
    Detail,
    /// `hint:` to the message before.
    Hint,
}

impl From<engine::Level> for Level {
    fn from(level: engine::Level) -> Self {
        match level {
            engine::Level::Plain => Self::Plain,
            engine::Level::Debug => Self::Debug,
            engine::Level::Info => Self::Info,
            engine::Level::Error => Self::Error,
        }
    }
}

/// Terminal attributes of the parts of a message; `None` where a part is shown as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Colors {
    error: Option<String>,
    warning: Option<String>,
    note: Option<String>,
    locus: Option<String>,
}

/// Writes messages to standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    colors: Colors,
    debug: bool,
}

impl Talk {
    /// As `PG_COLOR` and `PG_COLORS` ask for; debug lines are shown with `debug` only.
    pub(crate) fn from_environment(debug: bool) -> Self {
        let terminal = || std::io::stderr().is_terminal();
        let colors = colors(std::env::var_os("PG_COLOR"), std::env::var_os("PG_COLORS"), terminal);
        Self { colors, debug }
    }

    /// Whether debug lines are shown.
    pub(crate) fn says_debug(&self) -> bool {
        self.debug
    }

    /// Says one message.
    pub(crate) fn say(&self, level: Level, text: &str) {
        if level != Level::Debug || self.debug {
            print::talk_as_is(&self.line(level, text));
        }
    }

    /// The message as it is written, with the end of its line. As in pgbench it may have several lines; what would drive a
    /// terminal is escaped.
    pub(crate) fn line(&self, level: Level, text: &str) -> String {
        let text = secrets::covered(text.strip_suffix('\n').unwrap_or(text));
        let text = visible::lines(&text);
        if level == Level::Plain {
            return format!("{text}\n");
        }
        let name = painted(&format!("{NAME}: "), self.colors.locus.as_deref());
        let kind = match level {
            Level::Warning => painted("warning: ", self.colors.warning.as_deref()),
            Level::Error => painted("error: ", self.colors.error.as_deref()),
            Level::Detail => painted("detail: ", self.colors.note.as_deref()),
            Level::Hint => painted("hint: ", self.colors.note.as_deref()),
            Level::Plain | Level::Debug | Level::Info => String::new(),
        };
        format!("{name}{kind}{text}\n")
    }
}

fn painted(text: &str, attributes: Option<&str>) -> String {
    match attributes {
        Some(attributes) => format!("\x1b[{attributes}m{text}\x1b[0m"),
        None => text.to_owned(),
    }
}

/// The attributes that the two environment variables ask for.
fn colors(when: Option<OsString>, list: Option<OsString>, terminal: impl Fn() -> bool) -> Colors {
    let wanted = match when.as_deref().and_then(|when| when.to_str()) {
        Some("always") => true,
        Some("auto") => terminal(),
        _ => false,
    };
    if !wanted {
        return Colors::default();
    }
    let Some(list) = list else {
        let some = |text: &str| Some(text.to_owned());
        return Colors {
            error: some("01;31"),
            warning: some("01;35"),
            note: some("01;36"),
            locus: some("01"),
        };
    };
    let mut colors = Colors::default();
    for pair in list.to_string_lossy().split(':') {
        let Some((name, attributes)) = pair.split_once('=') else { continue };
        let part = match name {
            "error" => &mut colors.error,
            "warning" => &mut colors.warning,
            "note" => &mut colors.note,
            "locus" => &mut colors.locus,
            _ => continue,
        };
        *part = Some(attributes.to_owned());
    }
    colors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(when: &str, list: Option<&str>, terminal: bool) -> Talk {
        let colors = colors(Some(when.into()), list.map(Into::into), || terminal);
        Talk { colors, debug: false }
    }

    #[test]
    fn messages_without_colour() {
        let talk = Talk::default();
        let cases = [
            (Level::Plain, "NOTICE:  x\n", "NOTICE:  x\n"),
            (Level::Debug, "client 0 receiving", "pgbench: client 0 receiving\n"),
            (Level::Info, "setting random seed to 5", "pgbench: setting random seed to 5\n"),
            (Level::Warning, "w", "pgbench: warning: w\n"),
            (Level::Error, "ERROR:  a\nLINE 1: b\n", "pgbench: error: ERROR:  a\nLINE 1: b\n"),
            (Level::Detail, "d", "pgbench: detail: d\n"),
            (Level::Hint, "h", "pgbench: hint: h\n"),
            (
                Level::Error,
                "ERROR:  a\u{1b}[2J\u{7}\nx\u{202e}",
                "pgbench: error: ERROR:  a\\x1b[2J\\x07\nx\\u{202e}\n",
            ),
        ];
        for (level, text, wanted) in cases {
            assert_eq!(talk.line(level, text), wanted);
        }
    }

    #[test]
    fn colours_are_those_of_the_environment() {
        let error = |talk: &Talk| talk.line(Level::Error, "e");
        let plain = "pgbench: error: e\n";
        let full = "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0me\n";
        assert_eq!(error(&talk("always", None, false)), full);
        assert_eq!(error(&talk("auto", None, true)), full);
        assert_eq!(error(&talk("auto", None, false)), plain);
        assert_eq!(error(&talk("never", None, true)), plain);
        assert_eq!(error(&talk("always", Some(""), true)), plain);
        let chosen = talk("always", Some("error=44:x:note=1:error=45:foo=3:locus="), false);
        assert_eq!(error(&chosen), "\x1b[mpgbench: \x1b[0m\x1b[45merror: \x1b[0me\n");
        assert_eq!(chosen.line(Level::Hint, "h"), "\x1b[mpgbench: \x1b[0m\x1b[1mhint: \x1b[0mh\n");
        assert_eq!(chosen.line(Level::Warning, "w"), "\x1b[mpgbench: \x1b[0mwarning: w\n");
    }
}
