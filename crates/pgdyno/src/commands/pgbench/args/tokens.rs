//! Splits a command line like `getopt_long`: options and other arguments in any order, bundled letters,
//! attached or separate values, abbreviated long names, and `--` as the end of options.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::options::{OptionMatch, OptionSpec, by_letter, by_long};

#[derive(Debug)]
pub(super) enum ArgumentToken {
    /// An option, with its value if it takes one.
    Option(&'static OptionSpec, OsString),
    /// An error in getopt's words, without the program's name.
    Wrong(String),
}

/// Iterates over the options of a command line; other arguments are collected.
#[derive(Debug)]
pub(super) struct Tokens {
    arguments: std::vec::IntoIter<OsString>,
    /// Letters of a bundle not yet read.
    bundle: std::vec::IntoIter<u8>,
    others: Vec<OsString>,
    /// Whether the first argument that is not an option ends the options, as in POSIX.
    strict: bool,
}

impl Tokens {
    /// Starts after the program's name.
    pub(super) fn new(arguments: Vec<OsString>, strict: bool) -> Self {
        Self { arguments: arguments.into_iter(), bundle: Vec::new().into_iter(), others: Vec::new(), strict }
    }

    /// The arguments that are not options, in order. Complete after [`Self::next`] returned `None`.
    pub(super) fn others(self) -> Vec<OsString> {
        self.others
    }

    pub(super) fn next(&mut self) -> Option<ArgumentToken> {
        if let Some(letter) = self.bundle.next() {
            return Some(self.letter(letter));
        }
        loop {
            let mut argument = self.arguments.next()?.into_vec();
            match argument.as_slice() {
                b"--" => {
                    self.others.extend(self.arguments.by_ref());
                    return None;
                }
                [b'-', b'-', ..] => return Some(self.long(&argument[2..])),
                [b'-', _, ..] => {
                    self.bundle = argument.split_off(1).into_iter();
                    return self.next();
                }
                _ => {
                    self.others.push(OsString::from_vec(argument));
                    if self.strict {
                        self.others.extend(self.arguments.by_ref());
                        return None;
                    }
                }
            }
        }
    }

    fn letter(&mut self, letter: u8) -> ArgumentToken {
        let shown = String::from_utf8_lossy(&[letter]).into_owned();
        let Some(spec) = by_letter(letter) else {
            return ArgumentToken::Wrong(format!("invalid option -- '{shown}'"));
        };
        if !spec.takes_value() {
            return ArgumentToken::Option(spec, OsString::new());
        }
        let glued: Vec<u8> = self.bundle.by_ref().collect();
        if !glued.is_empty() {
            return ArgumentToken::Option(spec, OsString::from_vec(glued));
        }
        match self.arguments.next() {
            Some(value) => ArgumentToken::Option(spec, value),
            None => ArgumentToken::Wrong(format!("option requires an argument -- '{shown}'")),
        }
    }

    fn long(&mut self, text: &[u8]) -> ArgumentToken {
        let split = text.iter().position(|&byte| byte == b'=');
        let (name, glued) = match split {
            Some(at) => (&text[..at], Some(text[at + 1..].to_vec())),
            None => (text, None),
        };
        let spec = match by_long(name) {
            OptionMatch::One(spec) => spec,
            OptionMatch::Ambiguous(specs) => return ambiguous(text, &specs),
            OptionMatch::Unknown => {
                return ArgumentToken::Wrong(format!("unrecognized option '--{}'", lossy(text)));
            }
        };
        match (spec.takes_value(), glued) {
            (false, None) => ArgumentToken::Option(spec, OsString::new()),
            (false, Some(_)) => {
                ArgumentToken::Wrong(format!("option '--{}' doesn't allow an argument", spec.long))
            }
            (true, Some(value)) => ArgumentToken::Option(spec, OsString::from_vec(value)),
            (true, None) => match self.arguments.next() {
                Some(value) => ArgumentToken::Option(spec, value),
                None => ArgumentToken::Wrong(format!("option '--{}' requires an argument", spec.long)),
            },
        }
    }
}

fn ambiguous(text: &[u8], specs: &[&'static OptionSpec]) -> ArgumentToken {
    let names: String = specs.iter().map(|spec| format!(" '--{}'", spec.long)).collect();
    ArgumentToken::Wrong(format!("option '--{}' is ambiguous; possibilities:{names}", lossy(text)))
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::options::{BESIDE, PGBENCH};
    use super::*;

    /// Options as `name=value`, then the other arguments.
    fn split(arguments: &[&str], strict: bool) -> Vec<String> {
        let mut tokens = Tokens::new(arguments.iter().map(OsString::from).collect(), strict);
        let mut seen = Vec::new();
        while let Some(token) = tokens.next() {
            seen.push(match token {
                ArgumentToken::Option(spec, value) if spec.takes_value() => {
                    format!("{}={}", spec.long, value.display())
                }
                ArgumentToken::Option(spec, _) => spec.long.to_owned(),
                ArgumentToken::Wrong(text) => text,
            });
        }
        seen.push("|".to_owned());
        seen.extend(tokens.others().iter().map(|other| other.display().to_string()));
        seen
    }

    #[test]
    fn splits_as_getopt_long_does() {
        let cases: [(&[&str], &[&str]); 12] = [
            (&["-c5", "db", "-c", "5", "--client=5", "--client", "5"], &["client=5"; 4]),
            (&["-nvc5"], &["no-vacuum", "vacuum-all", "client=5"]),
            (&["-c", "-n"], &["client=-n"]),
            (&["--cl", "-3", "--cli=4"], &["client=-3", "client=4"]),
            (&["--client="], &["client="]),
            (&["-nxv"], &["no-vacuum", "invalid option -- 'x'", "vacuum-all"]),
            (&["-c"], &["option requires an argument -- 'c'"]),
            (&["--client"], &["option '--client' requires an argument"]),
            (&["--no-v=3"], &["option '--no-vacuum' doesn't allow an argument"]),
            (&["--foo=1"], &["unrecognized option '--foo=1'"]),
            (&["--c=1"], &["option '--c=1' is ambiguous; possibilities: '--client' '--connect'"]),
            (&["--=1"], &["option '--=1' is ambiguous; possibilities:"]),
        ];
        for (arguments, wanted) in cases {
            let seen = split(arguments, false);
            let options = seen.iter().take_while(|text| *text != "|");
            assert!(
                options.zip(wanted).all(|(seen, wanted)| seen.starts_with(wanted)),
                "{arguments:?}: {seen:?}"
            );
        }
    }

    #[test]
    fn what_is_no_option_is_kept_in_order() {
        assert_eq!(split(&["a", "-n", "-", "--", "-c", "b"], false), ["no-vacuum", "|", "a", "-", "-c", "b"]);
        assert_eq!(split(&["-n", "a", "-v"], true), ["no-vacuum", "|", "a", "-v"]);
        assert_eq!(split(&["", ""], false), ["|", "", ""]);
    }

    /// Every prefix of pgbench's options has the same meaning as in pgbench.
    #[test]
    fn own_options_change_no_abbreviation_of_pgbench() {
        for spec in &PGBENCH {
            for length in 1..=spec.long.len() {
                let prefix = &spec.long[..length];
                let starting: Vec<_> = PGBENCH.iter().filter(|spec| spec.long.starts_with(prefix)).collect();
                let exact = PGBENCH.iter().find(|spec| spec.long == prefix);
                match (by_long(prefix.as_bytes()), exact) {
                    (OptionMatch::One(found), Some(exact)) => assert_eq!(found.long, exact.long, "{prefix}"),
                    (OptionMatch::One(found), None) => {
                        assert_eq!((found.long, starting.len()), (starting[0].long, 1), "{prefix}");
                    }
                    (OptionMatch::Ambiguous(found), None) => {
                        assert_eq!(found.len(), starting.len(), "{prefix}")
                    }
                    (found, _) => panic!("{prefix}: {found:?}"),
                }
            }
        }
        for spec in &BESIDE {
            assert!(
                matches!(by_long(spec.long.as_bytes()), OptionMatch::One(found) if found.long == spec.long),
                "{}",
                spec.long
            );
        }
    }
}
