//! Logs of docker's default driver (`json-file`): a JSON object for each line.

use serde::Deserialize;

use crate::import::moment::{Form, Moment};

#[derive(Debug, Deserialize)]
struct JsonLine {
    log: String,
    time: Option<String>,
}

/// The line within a line of JSON, and when the program wrote it; `None` for another line.
pub(super) fn line(line: &str) -> Option<(String, Option<Moment>)> {
    if !line.starts_with('{') || !line.contains("\"log\"") {
        return None;
    }
    let JsonLine { log, time } = serde_json::from_str(line).ok()?;
    let moment = time.and_then(|time| Moment::at_start(&time, Form::Date));
    Some((log, moment.map(|(moment, _)| moment)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_out_of_their_json() {
        let json = r#"{"log":"Using PBF parser.\r\n","stream":"stderr","time":"2026-11-01T10:00:01.5Z"}"#;
        let (text, moment) = line(json).unwrap();
        assert_eq!((text.as_str(), moment.unwrap().us), ("Using PBF parser.\r\n", 1_793_527_201_500_000));
        assert_eq!(line(r#"{"log":"a"}"#), Some(("a".to_owned(), None)));
        for other in ["{\"log\":", "{}", "plain", r#"[{"log": "x"}]"#] {
            assert_eq!(line(other), None, "{other}");
        }
    }
}
