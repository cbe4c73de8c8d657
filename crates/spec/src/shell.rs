//! Commands printed to be pasted into a shell: a list of words, each quoted as one shell word.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use crate::visible;

/// Subcommands that measure: only these are accepted as a stored command.
const MEASURING: [&str; 7] = ["run", "bench", "ladder", "limit", "tiles", "pgbench", "osm"];
/// Consent to run the commands of an experiment file. Users give it each time; it is never taken from a
/// results file.
const CONSENT: &str = "--allow-commands";
/// Options whose value names programs.
const PROGRAMS: [&str; 3] = ["--pg-bin", "--program", "--bin"];

/// A command of pgdyno as a list of words, the program first.
///
/// [`Display`] quotes the words for a shell, on one line whatever they contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedCommand {
    words: Vec<String>,
}

impl PrintedCommand {
    /// `pgdyno` with a subcommand, e.g. `osm load`.
    #[must_use]
    pub fn new(subcommand: &str) -> Self {
        Self { words: std::iter::once("pgdyno").chain(subcommand.split(' ')).map(str::to_owned).collect() }
    }

    /// The command of an experiment from a results file.
    ///
    /// The file may come from somebody else: `None` unless it is a pgdyno command that measures, with each
    /// word quoted as [`Self::stored`] quotes it. So it has no second command, redirection or variable.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let words = shlex::split(text)?;
        let [program, subcommand, ..] = &words[..] else { return None };
        let is_known = program == "pgdyno" && MEASURING.contains(&subcommand.as_str());
        let command = Self { words };
        (is_known && command.stored() == text).then(|| command.without_consent())
    }

    /// The form in a results file, which [`Self::read`] parses.
    #[must_use]
    pub fn stored(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }

    /// Removes the consent to run commands of an experiment file.
    #[must_use]
    pub fn without_consent(mut self) -> Self {
        let is_consent = |word: &str| word.len() >= "--al".len() && CONSENT.starts_with(word);
        self.words.retain(|word| !is_consent(word));
        self
    }

    /// Adds a word that cannot be taken for an option: a path, a name, a connection string.
    #[must_use]
    pub fn operand(mut self, word: &str) -> Self {
        if word.starts_with('-') && !self.has("--") {
            self.words.push("--".to_owned());
        }
        self.words.push(word.to_owned());
        self
    }

    /// Adds a path; if it begins with a dash, as `./-…`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.words.push(if path.starts_with('-') { format!("./{path}") } else { path.to_owned() });
        self
    }

    /// Adds an option without a value.
    #[must_use]
    pub fn flag(self, name: &str) -> Self {
        self.inserted([name.to_owned()])
    }

    /// Adds an option with a value; a value that begins with a dash is attached to the name.
    #[must_use]
    pub fn option(self, name: &str, value: &str) -> Self {
        match (value.starts_with('-'), name.starts_with("--")) {
            (false, _) => self.inserted([name.to_owned(), value.to_owned()]),
            (true, true) => self.inserted([format!("{name}={value}")]),
            (true, false) => self.inserted([format!("{name}{value}")]),
        }
    }

    /// Replaces a path wherever it is a word, or a word before a weight: `a.sql@2`.
    #[must_use]
    pub fn with_path(mut self, was: &str, is: &str) -> Self {
        for word in &mut self.words {
            if let Some(rest) = word.strip_prefix(was).filter(|rest| rest.is_empty() || rest.starts_with('@'))
            {
                *word = format!("{is}{rest}");
            }
        }
        self
    }

    /// Removes options with a value, by all their names: `-T 3`, `-T3`, `--time 3`, `--time=3`. Words after
    /// `--` are kept.
    #[must_use]
    pub fn without_options(mut self, names: &[&str]) -> Self {
        let mut kept = Vec::with_capacity(self.words.len());
        let mut words = self.words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                kept.push(word);
                kept.extend(words.by_ref());
            } else if names.contains(&word.as_str()) {
                words.next();
            } else if !names.iter().any(|name| has_value_attached(&word, name)) {
                kept.push(word);
            }
        }
        self.words = kept;
        self
    }

    /// Its words, unquoted.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether it contains this word.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    /// Programs that it runs, e.g. the value of `--pg-bin`.
    #[must_use]
    pub fn programs(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut before = "";
        for word in &self.words {
            let (option, value) =
                word.split_once('=').map_or((before, word.as_str()), |(option, value)| (option, value));
            let is_named = option.len() > 3 && PROGRAMS.iter().any(|name| name.starts_with(option));
            let version = value.trim_start().strip_prefix("version:").map(str::trim);
            found.extend(is_named.then_some(value));
            found.extend(version.filter(|version| version.contains('/')));
            before = word;
        }
        found
    }

    fn inserted<const N: usize>(mut self, words: [String; N]) -> Self {
        let end = self.words.iter().position(|word| word == "--").unwrap_or(self.words.len());
        self.words.splice(end..end, words);
        self
    }
}

/// `--time=3` for `--time`, `-T3` for `-T`.
fn has_value_attached(word: &str, name: &str) -> bool {
    match word.strip_prefix(name) {
        Some(rest) if name.starts_with("--") => rest.starts_with('='),
        Some(rest) => rest.starts_with(|c: char| c.is_ascii_digit()),
        None => false,
    }
}

impl FromIterator<String> for PrintedCommand {
    fn from_iter<I: IntoIterator<Item = String>>(words: I) -> Self {
        Self { words: words.into_iter().collect() }
    }
}

impl Display for PrintedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, own) in self.words.iter().enumerate() {
            let gap = if at == 0 { "" } else { " " };
            write!(f, "{gap}{}", word(own))?;
        }
        Ok(())
    }
}

/// Quotes text as one word of a POSIX shell, on one line and without characters that change how it is shown.
///
/// Control characters and the like become `$'\012'` (POSIX.1-2024, 2.2.4). A shell without this syntax gets a
/// different word, but still a single one, since it contains no quote.
#[must_use]
pub fn word(text: &str) -> Cow<'_, str> {
    if !text.contains(visible::is_hostile) {
        return quoted(text);
    }
    let mut out = String::from("$'");
    for c in text.chars() {
        match c {
            // An argument cannot contain NUL.
            '\0' => out.push('\u{fffd}'),
            '\\' => out.push_str("\\\\"),
            c if c == '\'' || visible::is_hostile(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out + "'")
}

/// The words of a line as a POSIX shell splits it; `None` if a quote is not closed.
#[must_use]
pub fn words(line: &str) -> Option<Vec<String>> {
    shlex::split(line)
}

/// Quotes text as one word of a shell.
fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@=:,+%".contains(c);
    // zsh expands `=name` to the path of a command.
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('=') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;

    use proptest::prelude::*;

    use super::*;

    fn words_of(shell: &str, line: &str) -> Vec<String> {
        let done = Process::new(shell)
            .args(["-c", &format!("printf '%s\\0' {line}")])
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("a shell");
        assert!(done.status.success() && done.stderr.is_empty(), "{line}: {done:?}");
        let text = String::from_utf8(done.stdout).expect("UTF-8");
        text.strip_suffix('\0').expect("a word").split('\0').map(str::to_owned).collect()
    }

    #[test]
    fn options_are_replaced_however_they_were_typed() {
        for typed in ["-T 3", "-T3", "--time 3", "--time=3", "-T 3 --time=4"] {
            let command =
                PrintedCommand::read(&format!("pgdyno bench -c 4 {typed} --against 'script: b.sql' -- -T 3"));
            let command = command.unwrap();
            let command = command.without_options(&["-T", "--time"]).option("-T", "30");
            let wanted = "pgdyno bench -c 4 --against 'script: b.sql' -T 30 -- -T 3";
            assert_eq!(command.to_string(), wanted, "{typed}");
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (text, wanted) in [
            ("a.sql@3", "a.sql@3"),
            ("it's $x", r"'it'\''s $x'"),
            ("", "''"),
            ("=ls", "'=ls'"),
            ("a; touch X #", "'a; touch X #'"),
            ("a\nb'c\\", r"$'a\012b\047c\\'"),
            ("\u{202e}ż", r"$'\342\200\256ż'"),
        ] {
            assert_eq!(word(text), wanted);
        }
    }

    /// A stored command with a line break or a semicolon was printed unchanged.
    #[test]
    fn a_command_of_somebody_else_is_one_command() {
        let shown = |text: &str| PrintedCommand::read(text).map(|command| command.to_string());
        for (text, wanted) in [
            ("pgdyno run 'a b.toml' --full", "pgdyno run 'a b.toml' --full"),
            ("pgdyno run 'a.toml; rm -rf ~' '$(id)'", "pgdyno run 'a.toml; rm -rf ~' '$(id)'"),
            ("pgdyno run 'a\nerror: b'", r"pgdyno run $'a\012error: b'"),
            ("pgdyno run a.toml --allow-commands --allow-com --full", "pgdyno run a.toml --full"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(wanted));
        }
        for text in [
            "",
            "pgdyno",
            "curl x | sh",
            "./pgdyno run a.toml",
            "pgdyno target destroy default",
            "pgdyno run 'a",
            "pgdyno run a.toml; rm -rf ~",
            "pgdyno run $(id)",
            "pgdyno run a.toml\nerror: b",
            "pgdyno run a.toml # b",
            " pgdyno run a.toml",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn values_are_no_options() {
        let command = PrintedCommand::new("osm load")
            .option("-e", "-x")
            .option("--style", "--y")
            .flag("--drop")
            .path("-z");
        assert_eq!(command.to_string(), "pgdyno osm load -e-x --style=--y --drop ./-z");
        let command = PrintedCommand::new("bench").operand("--undo=x").operand("-y").option("--rounds", "8");
        assert_eq!(command.to_string(), "pgdyno bench --rounds 8 -- --undo=x -y");
    }

    #[test]
    fn programs_that_a_command_names_are_known() {
        let of = |text: &str| PrintedCommand::read(text).map(|command| command.programs().join(" "));
        for (text, wanted) in [
            ("pgdyno bench -S --pg-bin ../bin", "../bin"),
            ("pgdyno bench --pg=../bin --against 'version: ./b'", "../bin ./b"),
            ("pgdyno run a.toml --report b/c.html", ""),
            ("pgdyno bench --against 'version: 16'", ""),
        ] {
            assert_eq!(of(text).as_deref(), Some(wanted));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_gives_the_words_back(words in prop::collection::vec("[^\0]{0,9}|[-;#$`'\"\\\\!=~ \n\r\t&|<>(){}*?a]{0,9}", 1..9)) {
            let line = words.iter().map(|text| word(text).into_owned()).collect::<Vec<_>>().join(" ");
            prop_assert!(!line.contains(visible::is_hostile), "{:?}", line);
            // A shell without `$'…'` gives other words, but the same number.
            let is_exact = Process::new("sh").args(["-c", "[ $'\\101' = A ]"]).status().is_ok_and(|status| status.success());
            let found = words_of("sh", &line);
            prop_assert_eq!(found.len(), words.len());
            if is_exact || !words.concat().contains(visible::is_hostile) {
                prop_assert_eq!(&found, &words);
            }
            if Process::new("bash").arg("--version").output().is_ok() {
                prop_assert_eq!(words_of("bash", &line), words);
            }
        }

        #[test]
        fn what_is_stored_is_read_back(words in prop::collection::vec("[^\0]{0,9}|[-;#$`'\"\\\\ \n]{0,9}", 0..6)) {
            let command = PrintedCommand { words: ["pgdyno", "run"].iter().map(ToString::to_string).chain(words).collect() };
            prop_assert_eq!(PrintedCommand::read(&command.stored()), Some(command.without_consent()));
        }
    }
}
