//! Parses `--zooms` to the value in experiment files.

use toml::{Table, Value};

/// `12-16` (or `12..16`), `14`, or `12=1,14=6`; `12,14` asks for both equally often. The error shows the
/// syntax.
pub(super) fn zooms(text: &str) -> Result<Value, String> {
    let written = text.trim();
    let ends = written.split_once("..").or_else(|| written.split_once('-'));
    let read = match ends {
        Some((low, high)) => zoom(low).zip(zoom(high)).map(|(low, high)| Value::from(vec![low, high])),
        None if written.contains(['=', ',']) => mix(written),
        None => zoom(written).map(|only| Value::from(vec![only, only])),
    };
    read.ok_or_else(|| {
        "must be zooms such as 12-16, or each with its frequency, such as 12=1,14=6".to_owned()
    })
}

fn zoom(text: &str) -> Option<i64> {
    text.trim().parse::<u8>().ok().map(i64::from)
}

fn mix(written: &str) -> Option<Value> {
    let mut mix = Table::new();
    for part in written.split(',') {
        let (of, often) = part.split_once('=').unwrap_or((part, "1"));
        let often: f64 = often.trim().parse().ok()?;
        if mix.insert(zoom(of)?.to_string(), Value::Float(often)).is_some() {
            return None;
        }
    }
    Some(Value::Table(mix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_mixes() {
        for (written, wanted) in [
            ("12-16", "[12, 16]"),
            ("12..16", "[12, 16]"),
            (" 0 - 3 ", "[0, 3]"),
            ("14", "[14, 14]"),
            ("12=1,14=6.5", "{ 12 = 1.0, 14 = 6.5 }"),
            ("12,14", "{ 12 = 1.0, 14 = 1.0 }"),
        ] {
            assert_eq!(zooms(written).map(|value| value.to_string()), Ok(wanted.to_owned()), "{written}");
        }
        for written in ["", "a", "12-", "-3", "12=x", "12=1,12=2", "12,,14", "12-14-16", "300"] {
            assert!(zooms(written).unwrap_err().contains("12=1,14=6"), "{written}");
        }
    }
}
