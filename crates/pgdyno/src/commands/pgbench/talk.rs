//! Messages of the drop-in on standard error, worded and coloured like in PostgreSQL's programs.

use std::ffi::OsString;
use std::io::IsTerminal;

use ::report::visible;

use crate::print;

pub(crate) const NAME: &str = "pgbench";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLevel {
    /// The text without the program's name.
    Plain,
    /// A NOTICE, or the output of `debug()`: without the program's name. Text that looks like another message
    /// is marked.
    Foreign,
    /// A step, shown only with `--debug`.
    Debug,
    Info,
    Warning,
    Error,
    /// `detail:` of the previous message.
    Detail,
    /// `hint:` to the previous message.
    Hint,
}

impl From<engine::MessageLevel> for LogLevel {
    fn from(level: engine::MessageLevel) -> Self {
        match level {
            engine::MessageLevel::Plain => Self::Foreign,
            engine::MessageLevel::Debug => Self::Debug,
            engine::MessageLevel::Info => Self::Info,
            engine::MessageLevel::Error => Self::Error,
        }
    }
}

/// Terminal attributes of the parts of a message; `None`: unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Colors {
    error: Option<String>,
    warning: Option<String>,
    note: Option<String>,
    locus: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    colors: Colors,
    debug: bool,
}

impl Talk {
    /// With the colors of `PG_COLOR` and `PG_COLORS`; `debug` shows debug lines.
    pub(crate) fn from_environment(debug: bool) -> Self {
        let terminal = || std::io::stderr().is_terminal();
        let colors = colors(std::env::var_os("PG_COLOR"), std::env::var_os("PG_COLORS"), terminal);
        Self { colors, debug }
    }

    pub(crate) fn says_debug(&self) -> bool {
        self.debug
    }

    pub(crate) fn say(&self, level: LogLevel, text: &str) {
        if level != LogLevel::Debug || self.debug {
            print::talk_as_is(&self.line(level, text));
        }
    }

    /// The message with its line break. As in pgbench it may have several lines. Lines that do not begin like
    /// libpq's are marked, and control characters are escaped.
    pub(crate) fn line(&self, level: LogLevel, text: &str) -> String {
        let text = text.strip_suffix('\n').unwrap_or(text);
        match level {
            LogLevel::Plain => return format!("{}\n", visible::lines(text)),
            LogLevel::Foreign => return format!("{}\n", foreign(text)),
            _ => {}
        }
        let text = marked(text);
        let name = painted(&format!("{NAME}: "), self.colors.locus.as_deref());
        let kind = match level {
            LogLevel::Warning => painted("warning: ", self.colors.warning.as_deref()),
            LogLevel::Error => painted("error: ", self.colors.error.as_deref()),
            LogLevel::Detail => painted("detail: ", self.colors.note.as_deref()),
            LogLevel::Hint => painted("hint: ", self.colors.note.as_deref()),
            LogLevel::Plain | LogLevel::Foreign | LogLevel::Debug | LogLevel::Info => String::new(),
        };
        format!("{name}{kind}{text}\n")
    }
}

/// Prefix of a line that could pass for one of ours.
const MARK: &str = "  | ";
/// Beginnings of lines that libpq adds to a message, that functions and parameters add to a context, and that
/// repeat a meta-command. None of our lines begins like this.
const BEGINNINGS: [&str; 13] = [
    "LINE ",
    "DETAIL:  ",
    "HINT:  ",
    "QUERY:  ",
    "CONTEXT:  ",
    "PL/pgSQL function ",
    "SQL statement \"",
    "SQL function \"",
    "unnamed portal ",
    "portal \"",
    "connection to server ",
    "\tIs the server running ",
    "\\",
];

/// Marks each line after the first that does not begin like libpq's lines.
pub(super) fn marked(text: &str) -> String {
    let mut parts = text.split('\n');
    let first = visible::lines(parts.next().unwrap_or_default()).into_owned();
    parts.fold(first, |out, part| {
        let mark = if is_of_libpq(part) { "" } else { MARK };
        format!("{out}\n{mark}{}", visible::lines(part))
    })
}

/// The same for text printed without the program's name. The first line must begin with a severity, or is
/// marked.
pub(super) fn foreign(text: &str) -> String {
    let (severity, _) = text.split_once(":  ").unwrap_or_default();
    let is_severity =
        !severity.is_empty() && !severity.contains(|c: char| c.is_ascii_lowercase() || c.is_control());
    let mark = if is_severity || text.starts_with("debug(script=") { "" } else { MARK };
    format!("{mark}{}", marked(text))
}

fn is_of_libpq(line: &str) -> bool {
    let is_caret = line.trim_start_matches(' ').starts_with('^');
    is_caret || line.is_empty() || BEGINNINGS.iter().any(|start| line.starts_with(start))
}

fn painted(text: &str, attributes: Option<&str>) -> String {
    match attributes {
        Some(attributes) => format!("\x1b[{attributes}m{text}\x1b[0m"),
        None => text.to_owned(),
    }
}

/// The attributes set by the two environment variables.
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
            (LogLevel::Plain, "NOTICE:  x\n", "NOTICE:  x\n"),
            (LogLevel::Debug, "client 0 receiving", "pgbench: client 0 receiving\n"),
            (LogLevel::Info, "setting random seed to 5", "pgbench: setting random seed to 5\n"),
            (LogLevel::Warning, "w", "pgbench: warning: w\n"),
            (LogLevel::Error, "ERROR:  a\nLINE 1: b\n", "pgbench: error: ERROR:  a\nLINE 1: b\n"),
            (LogLevel::Detail, "d", "pgbench: detail: d\n"),
            (LogLevel::Hint, "h", "pgbench: hint: h\n"),
            (
                LogLevel::Error,
                "ERROR:  a\u{1b}[2J\u{7}\nx\u{202e}",
                "pgbench: error: ERROR:  a\\x1b[2J\\x07\n  | x\\u{202e}\n",
            ),
            (
                LogLevel::Error,
                "f.sql:1: syntax error\n\\set x (1\n         ^ error found here",
                "pgbench: error: f.sql:1: syntax error\n\\set x (1\n         ^ error found here\n",
            ),
            (LogLevel::Foreign, "HINWEIS:  a\nDETAIL:  b\n\nc", "HINWEIS:  a\nDETAIL:  b\n\n  | c\n"),
            (LogLevel::Foreign, "debug(script=0,command=1): int 5", "debug(script=0,command=1): int 5\n"),
        ];
        for (level, text, wanted) in cases {
            assert_eq!(talk.line(level, text), wanted);
        }
    }

    /// A line break in a server's message started a line that looked like one of ours; so did a severity.
    #[test]
    fn what_a_server_says_is_no_line_of_ours() {
        let forged = [
            "pgbench: error: x",
            "tps = 99",
            "progress: 1.0 s",
            "SQL script 1: x",
            "Run was aborted",
            "error: x",
        ];
        for line in forged {
            let said =
                Talk::default().line(LogLevel::Error, &format!("ERROR:  a\n{line}\nCONTEXT:  b\n{line}"));
            assert_eq!(said, format!("pgbench: error: ERROR:  a\n  | {line}\nCONTEXT:  b\n  | {line}\n"));
            for text in [line.to_owned(), format!("{line}:  y")] {
                assert_eq!(Talk::default().line(LogLevel::Foreign, &text), format!("  | {text}\n"));
            }
        }
    }

    #[test]
    fn colours_are_those_of_the_environment() {
        let error = |talk: &Talk| talk.line(LogLevel::Error, "e");
        let plain = "pgbench: error: e\n";
        let full = "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0me\n";
        assert_eq!(error(&talk("always", None, false)), full);
        assert_eq!(error(&talk("auto", None, true)), full);
        assert_eq!(error(&talk("auto", None, false)), plain);
        assert_eq!(error(&talk("never", None, true)), plain);
        assert_eq!(error(&talk("always", Some(""), true)), plain);
        let chosen = talk("always", Some("error=44:x:note=1:error=45:foo=3:locus="), false);
        assert_eq!(error(&chosen), "\x1b[mpgbench: \x1b[0m\x1b[45merror: \x1b[0me\n");
        assert_eq!(chosen.line(LogLevel::Hint, "h"), "\x1b[mpgbench: \x1b[0m\x1b[1mhint: \x1b[0mh\n");
        assert_eq!(chosen.line(LogLevel::Warning, "w"), "\x1b[mpgbench: \x1b[0mwarning: w\n");
    }
}
