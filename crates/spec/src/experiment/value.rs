//! Values of an experiment file: their kinds and bounds. The error of each reader says what the value must
//! be.

use std::time::Duration;

use jiff::SignedDuration;
use toml::Value;

/// A text.
///
/// # Errors
/// What it must be.
pub fn text(value: &Value) -> Result<String, String> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("must be a text in quotes, not {}", described(value)))
}

/// A whole number within `least` and `most`.
///
/// # Errors
/// What it must be.
pub fn whole_number(value: &Value, least: u64, most: u64) -> Result<u64, String> {
    let number =
        value.as_integer().ok_or_else(|| format!("must be a whole number, not {}", described(value)))?;
    let number = u64::try_from(number).ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("must be from {least} to {most}"))
}

/// A number within `least` and `most`.
///
/// # Errors
/// What it must be.
pub fn number(value: &Value, least: f64, most: f64) -> Result<f64, String> {
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    let number = number.ok_or_else(|| format!("must be a number, not {}", described(value)))?;
    let within = Some(number).filter(|number| (least..=most).contains(number));
    within.ok_or_else(|| format!("must be from {least} to {most}"))
}

/// A length of time with its unit, e.g. "500ms", within bounds in µs.
///
/// # Errors
/// What it must be.
pub fn time(value: &Value, least: u64, most: u64) -> Result<Duration, String> {
    let units = "write a number with its unit: \"500ms\", \"10s\", \"2min\", \"1h\"";
    let text = value
        .as_str()
        .ok_or_else(|| format!("must be a length of time, not {}\n{units}", described(value)))?;
    let time = text.trim().parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    let time = time.ok_or_else(|| format!("the text \"{text}\" is not a length of time\n{units}"))?;
    let [least, most] = [least, most].map(Duration::from_micros);
    let within = Some(time).filter(|time| (least..=most).contains(time));
    let words = |bound| {
        SignedDuration::try_from(bound).map_or_else(|_| format!("{bound:?}"), |bound| format!("{bound:#}"))
    };
    within.ok_or_else(|| format!("must be from {} to {}", words(least), words(most)))
}

/// The value in a message.
#[must_use]
pub fn described(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text \"{text}\""),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        plain => plain.to_string(),
    }
}
