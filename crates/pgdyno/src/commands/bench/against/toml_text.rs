//! An experiment file being written: keys in the order they are read in, values as `toml` writes them.

use toml::{Table, Value};

#[derive(Debug, Default)]
pub(in crate::commands) struct TomlText(String);

impl TomlText {
    pub(in crate::commands) fn comment(&mut self, text: &str) {
        for line in text.lines() {
            self.0.push_str(&format!("# {line}\n"));
        }
    }

    /// `[a."b c"]`, after an empty line.
    pub(in crate::commands) fn table(&mut self, path: &[&str]) {
        let path: Vec<String> = path.iter().map(|part| key(part)).collect();
        self.0.push_str(&format!("\n[{}]\n", path.join(".")));
    }

    pub(in crate::commands) fn entry(&mut self, name: &str, value: impl Into<Value>) {
        self.0.push_str(&format!("{} = {}\n", key(name), value.into()));
    }

    pub(in crate::commands) fn into_text(self) -> String {
        self.0
    }
}

/// A key, in quotes where it must be.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

/// A length of time as experiment files have it: `2.5s`, `500ms`.
pub(in crate::commands) fn seconds(seconds: f64) -> String {
    let ms = (seconds * 1e3).round();
    if ms < 1000.0 { format!("{ms}ms") } else { format!("{}s", ms / 1e3) }
}

/// A number where it is one, `true` and `false`, else a text.
pub(in crate::commands) fn scalar(text: &str) -> Value {
    match text {
        "true" | "false" => Value::Boolean(text == "true"),
        _ => match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Value::Integer(number),
            _ => Value::from(text),
        },
    }
}

/// One value, or a list of several.
pub(in crate::commands) fn one_or_many(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
}

/// A table of these entries, written on one line.
pub(in crate::commands) fn inline(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Table(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Table>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut text = TomlText::default();
        text.comment("one\ntwo");
        text.entry("question", "Is \"it\" faster?\n");
        text.table(&["settings", "jit off"]);
        text.entry("x.y", scalar("it's"));
        text.entry("jit", scalar("off"));
        text.entry("work_mem", scalar("4096"));
        text.entry("pgbench", inline([("files", one_or_many(vec!["a.sql".into(), "b.sql".into()]))]));
        let text = text.into_text();
        assert!(text.starts_with("# one\n# two\nquestion = "), "{text}");
        assert!(text.ends_with("pgbench = { files = [\"a.sql\", \"b.sql\"] }\n"), "{text}");
        let read: Table = text.parse().unwrap();
        assert_eq!(read["question"].as_str(), Some("Is \"it\" faster?\n"));
        let settings = read["settings"]["jit off"].as_table().unwrap();
        assert_eq!((settings["x.y"].as_str(), settings["work_mem"].as_integer()), (Some("it's"), Some(4096)));
    }

    #[test]
    fn lengths_of_time() {
        for (length, wanted) in [(2.5, "2.5s"), (0.5, "500ms"), (5.0, "5s"), (0.0, "0ms"), (60.0, "60s")] {
            assert_eq!(seconds(length), wanted);
        }
    }
}
