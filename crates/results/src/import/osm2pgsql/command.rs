//! The command line of osm2pgsql, if a log has it: the options of the load, and nothing that may hold a
//! password.

use std::collections::BTreeMap;

/// Options without a value that change the load.
const FLAGS: [(&str, char); 6] = [
    ("slim", 's'),
    ("drop", '\0'),
    ("append", 'a'),
    ("hstore", 'k'),
    ("hstore-all", 'j'),
    ("multi-geometry", 'G'),
];
/// Options with a value that change the load.
const VALUES: [(&str, char); 6] = [
    ("flat-nodes", 'F'),
    ("cache", 'C'),
    ("number-processes", '\0'),
    ("style", 'S'),
    ("output", 'O'),
    ("prefix", 'p'),
];
/// Ignored short options with a value.
const OTHER_VALUES: &str = "dUHPiExezrobtB";
/// Ignored long options with a value; others are recognised by their `=` or as flags.
const OTHER_LONG_VALUES: [&str; 22] = [
    "database",
    "user",
    "username",
    "host",
    "port",
    "tablespace-index",
    "tablespace-main-data",
    "tablespace-main-index",
    "tablespace-slim-data",
    "tablespace-slim-index",
    "proj",
    "expire-tiles",
    "expire-output",
    "expire-bbox-size",
    "hstore-column",
    "input-reader",
    "bbox",
    "schema",
    "middle-schema",
    "log-level",
    "tag-transform-script",
    "middle-way-node-index-id-shift",
];
/// Endings of OpenStreetMap files.
const DATA: [&str; 7] = [".pbf", ".osm", ".osc", ".o5m", ".gz", ".bz2", ".xml"];
/// Words before the program's name, at most: `sudo -u postgres env LANG=C nice -n 5 time osm2pgsql`.
const MOST_BEFORE: usize = 16;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// Options by their long names, flags as `yes`, and `extract`, the file's name.
    pub(super) options: BTreeMap<String, String>,
}

impl CommandLine {
    /// The command in a line that starts osm2pgsql, after any text of a shell or `time`; `None` for another
    /// line.
    pub(super) fn of(line: &str) -> Option<Self> {
        let timed = line.trim().strip_prefix("Command being timed: ");
        let line = timed.map_or(line, |command| command.trim_matches('"'));
        if !line.contains("osm2pgsql") {
            return None;
        }
        let words = words(line);
        let program =
            words.iter().take(MOST_BEFORE).position(|word| word.rsplit('/').next() == Some("osm2pgsql"))?;
        let arguments = &words[program + 1..];
        let is_command = arguments.iter().any(|word| word.starts_with('-') || is_data(word));
        is_command.then(|| Self::of_arguments(arguments))
    }

    fn of_arguments(arguments: &[String]) -> Self {
        let mut line = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                line.long(long, &mut words);
            } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
                line.short(short, &mut words);
            } else if is_data(word) {
                line.options.insert("extract".to_owned(), file_name(word));
            }
        }
        line
    }

    fn long<'a>(&mut self, option: &str, rest: &mut impl Iterator<Item = &'a String>) {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        if FLAGS.iter().any(|(flag, _)| *flag == name) {
            self.options.insert(name.to_owned(), "yes".to_owned());
        } else if VALUES.iter().any(|(known, _)| *known == name) {
            self.value(name, value.or_else(|| rest.next().cloned()));
        } else if value.is_none() && OTHER_LONG_VALUES.contains(&name) {
            rest.next();
        }
    }

    /// `-s`, `-C2000`, `-sd gis`.
    fn short<'a>(&mut self, letters: &str, rest: &mut impl Iterator<Item = &'a String>) {
        for (at, letter) in letters.char_indices() {
            let behind = &letters[at + letter.len_utf8()..];
            let value = |rest: &mut dyn Iterator<Item = &'a String>| match behind {
                "" => rest.next().cloned(),
                value => Some(value.to_owned()),
            };
            if let Some((flag, _)) = FLAGS.iter().find(|(_, short)| *short == letter) {
                self.options.insert((*flag).to_owned(), "yes".to_owned());
            } else if let Some((name, _)) = VALUES.iter().find(|(_, short)| *short == letter) {
                let value = value(rest);
                return self.value(name, value);
            } else if OTHER_VALUES.contains(letter) {
                value(rest);
                return;
            }
        }
    }

    fn value(&mut self, name: &str, value: Option<String>) {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return };
        let level = match name {
            // The file's location is a matter of storage, and must not separate compared runs.
            "flat-nodes" => "yes".to_owned(),
            "style" => file_name(&value),
            _ => value,
        };
        self.options.insert(name.to_owned(), level);
    }
}

fn is_data(word: &str) -> bool {
    !word.contains("://") && DATA.iter().any(|end| word.ends_with(end))
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// A line split into words like a shell does, with quotes and backslashes only.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => (quote, begun) = (Some(letter), true),
            ('\\', None | Some('"')) => word.extend(letters.next()),
            (_, None) if letter.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => word.push(letter),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> String {
        let Some(command) = CommandLine::of(line) else { return "none".to_owned() };
        let options = command.options.iter().map(|(name, value)| format!("{name}={value}"));
        options.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_are_read_however_they_are_written() {
        for (line, wanted) in [
            ("$ osm2pgsql -d gis malta-latest.osm.pbf", "extract=malta-latest.osm.pbf"),
            (
                "+ sudo -u postgres nice -n 5 /usr/bin/osm2pgsql --create --slim --drop -C2000 --number-processes 4 \
                 --flat-nodes=/nvme/nodes -S ./my.lua -O flex -d postgresql://me:geheim@host/gis '/data/my planet.osm.pbf'",
                "cache=2000 drop=yes extract=my planet.osm.pbf flat-nodes=yes number-processes=4 output=flex slim=yes style=my.lua",
            ),
            (
                "\tCommand being timed: \"osm2pgsql -sGd gis -p al --host /run -W al.osm.pbf\"",
                "extract=al.osm.pbf multi-geometry=yes prefix=al slim=yes",
            ),
            (
                "time osm2pgsql --database \"host=db password=geheim\" --cache=0 x.osm.bz2",
                "cache=0 extract=x.osm.bz2",
            ),
            ("osm2pgsql -U x.osm -d -s", ""),
            ("osm2pgsql version 1.2.1 (64 bit id space)", "none"),
            ("osm2pgsql took 95s (1m 35s) overall.", "none"),
            ("Osm2pgsql failed due to ERROR: x", "none"),
            ("I ran osm2pgsql here", "none"),
            ("pgbench -c 4", "none"),
        ] {
            assert_eq!(options(line), wanted, "{line}");
            assert!(!options(line).contains("geheim"));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "(osm2pgsql )?\\PC{0,60}") {
            let _ = CommandLine::of(&line);
        }
    }
}
