//! Values of an experiment file: their kinds and bounds. The error of each reader says what the value must be.

use toml::Value;

/// A text; the error says what it must be.
pub(crate) fn text(value: &Value) -> Result<String, String> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("must be a text in quotes, not {}", described(value)))
}

/// A whole number within bounds.
pub(crate) fn whole(value: &Value, least: u64, most: u64) -> Result<u64, String> {
    let number =
        value.as_integer().ok_or_else(|| format!("must be a whole number, not {}", described(value)))?;
    let number = u64::try_from(number).ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("must be from {least} to {most}"))
}

/// A number within bounds, whole or not.
pub(crate) fn number(value: &Value, least: f64, most: f64) -> Result<f64, String> {
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    let number = number.ok_or_else(|| format!("must be a number, not {}", described(value)))?;
    let within = Some(number).filter(|number| (least..=most).contains(number));
    within.ok_or_else(|| format!("must be from {least} to {most}"))
}

/// What stands in the file, in words.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text \"{text}\""),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        plain => plain.to_string(),
    }
}
