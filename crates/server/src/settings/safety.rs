//! Settings that trade crash safety or maintenance for speed; they are named wherever their figures are
//! shown.

use std::collections::BTreeMap;

/// Name, the value that weakens, and what it costs.
const WEAKENING: [(&str, &str, &str); 6] = [
    ("fsync", "off", "a crash can destroy the data"),
    ("full_page_writes", "off", "a crash can tear pages"),
    ("synchronous_commit", "off", "a crash loses the last commits"),
    ("wal_level", "minimal", "no archive, no standby"),
    ("autovacuum", "off", "tables bloat and statistics age"),
    ("track_counts", "off", "autovacuum stops working"),
];

/// How these settings weaken safety, in words: `fsync = off (a crash can destroy the data)`.
#[must_use]
pub fn weakens(settings: &BTreeMap<String, String>) -> Vec<String> {
    let is = |name: &str, value: &str| {
        settings.iter().any(|(key, given)| key.eq_ignore_ascii_case(name) && canonical(given) == value)
    };
    WEAKENING
        .iter()
        .filter(|(name, value, _)| is(name, value))
        .map(|(name, value, loss)| format!("{name} = {value} ({loss})"))
        .collect()
}

fn canonical(value: &str) -> String {
    let value = value.trim().to_lowercase();
    match value.as_str() {
        "false" | "no" | "0" | "f" | "n" | "of" => "off".to_owned(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weakening_settings_are_named() {
        let settings =
            [("fsync", "false"), ("Full_Page_Writes", "OFF"), ("autovacuum", "on"), ("work_mem", "off")];
        let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(
            weakens(&settings),
            ["fsync = off (a crash can destroy the data)", "full_page_writes = off (a crash can tear pages)"]
        );
        assert!(weakens(&BTreeMap::new()).is_empty());
    }
}
