//! Values that are kept as text.

pub(super) fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are plain data")
}

/// The name under which serde knows a value, without quotes.
pub(super) fn word<T: serde::Serialize>(value: &T) -> String {
    json(value).trim_matches('"').to_owned()
}
