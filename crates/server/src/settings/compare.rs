//! Compares a value as written (`64MB`, `yes`, `1.0`) with the value in force (`65536` kB, `on`, `1`).

use super::catalog::CatalogEntry;

/// Whether the server's value equals the requested one.
#[must_use]
pub fn is_in_force(wanted: &str, entry: &CatalogEntry) -> bool {
    let (wanted, setting) = (wanted.trim(), entry.setting.trim());
    if wanted.eq_ignore_ascii_case(setting) || is_server_choice(wanted, entry) {
        return true;
    }
    match entry.vartype.as_str() {
        "bool" => boolean(wanted).is_some_and(|value| boolean(setting) == Some(value)),
        "integer" => integers_agree(wanted, entry),
        "real" => reals_agree(wanted, entry),
        "enum" => canonical_choice(&entry.name, wanted) == canonical_choice(&entry.name, setting),
        _ => list(wanted) == list(setting),
    }
}

/// What a setting accepts, in words, if `value` is certainly not accepted; `None` where it may be.
#[must_use]
pub(super) fn allowed_values(value: &str, entry: &CatalogEntry) -> Option<String> {
    match entry.vartype.as_str() {
        "bool" => boolean(value.trim()).is_none().then(|| "it takes on or off".to_owned()),
        "enum" => {
            let known = |value: &str| entry.choices.iter().any(|choice| choice.eq_ignore_ascii_case(value));
            let fits = known(value.trim()) || known(&canonical_choice(&entry.name, value.trim()));
            (!fits && !entry.choices.is_empty()).then(|| format!("it takes {}", entry.choices.join(", ")))
        }
        "integer" | "real" => {
            let figure = in_unit(value, entry.unit.as_deref());
            let within = figure.is_some_and(|figure| is_within(figure, entry));
            (!within).then(|| allowed_numbers(entry))
        }
        _ => None,
    }
}

/// The server rounds whole numbers before it checks their bounds.
fn is_within(figure: f64, entry: &CatalogEntry) -> bool {
    let figure = if entry.vartype == "integer" { figure.round_ties_even() } else { figure };
    let bound = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<f64>().ok());
    bound(&entry.min_val).is_none_or(|least| figure >= least)
        && bound(&entry.max_val).is_none_or(|most| figure <= most)
}

/// `it takes a whole number from 64 to 2147483647 kB, or with one of the units B, kB, MB, GB, TB`.
fn allowed_numbers(entry: &CatalogEntry) -> String {
    let kind = if entry.vartype == "integer" { "a whole number" } else { "a number" };
    let range = match (&entry.min_val, &entry.max_val) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        _ => String::new(),
    };
    let Some(own) = entry.unit.as_deref() else { return format!("it takes {kind}{range}") };
    let times = if own.starts_with(|first: char| first.is_ascii_digit()) { " x" } else { "" };
    let units = match setting_unit(own) {
        Some((UnitKind::Memory, _)) => "B, kB, MB, GB, TB",
        _ => "us, ms, s, min, h, d",
    };
    format!("it takes {kind}{range}{times} {own}, or a number with a unit: {units}")
}

/// A duration in a setting counted in `unit`, seconds.
pub(super) fn seconds(value: &str, unit: &str) -> Option<f64> {
    let (kind, size) = setting_unit(unit)?;
    (kind == UnitKind::Time).then(|| in_unit(value, Some(unit)).map(|figure| figure * size / 1e6))?
}

/// An amount of memory in a setting counted in `unit` (`kB`, `8kB`), bytes.
#[must_use]
pub fn memory_bytes(value: &str, unit: &str) -> Option<f64> {
    let (kind, size) = setting_unit(unit)?;
    (kind == UnitKind::Memory).then(|| in_unit(value, Some(unit)).map(|figure| figure * size))?
}

/// `wal_buffers = -1` and similar: the server replaces it.
fn is_server_choice(wanted: &str, entry: &CatalogEntry) -> bool {
    const AUTOMATIC: [(&str, &str); 4] = [
        ("wal_buffers", "-1"),
        ("commit_timestamp_buffers", "0"),
        ("subtransaction_buffers", "0"),
        ("transaction_buffers", "0"),
    ];
    AUTOMATIC.contains(&(entry.name.as_str(), wanted))
}

/// PostgreSQL accepts unique prefixes of true, false, yes, no, and on, off, 1, 0.
fn boolean(text: &str) -> Option<bool> {
    let text = text.to_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    match text.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ if begins("true", 1) || begins("yes", 1) || text == "on" => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        _ => None,
    }
}

fn integers_agree(wanted: &str, entry: &CatalogEntry) -> bool {
    let Some(setting) = entry.setting.parse::<f64>().ok() else { return false };
    let Some(wanted) = in_unit(wanted, entry.unit.as_deref()) else { return false };
    // The server rounds to its unit: half a unit on either side is the same value.
    (wanted - setting).abs() <= 0.5 + setting.abs() * 1e-9
}

fn reals_agree(wanted: &str, entry: &CatalogEntry) -> bool {
    let Some(setting) = entry.setting.parse::<f64>().ok() else { return false };
    in_unit(wanted, entry.unit.as_deref())
        .is_some_and(|wanted| (wanted - setting).abs() <= setting.abs() * 1e-6)
}

/// A number in the setting's unit, which is also the default unit.
fn in_unit(text: &str, unit: Option<&str>) -> Option<f64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok().map(f64::from);
    }
    let split = unit_start(text);
    let figure: f64 = text[..split].trim().parse().ok()?;
    match (text[split..].trim(), unit) {
        ("", _) => Some(figure),
        (written, Some(own)) => {
            let ((own_kind, own_size), (kind, size)) = (setting_unit(own)?, unit_size(written)?);
            (own_kind == kind).then(|| figure * size / own_size)
        }
        (_, None) => None,
    }
}

/// Where the unit begins: after the number, whose exponent may contain a letter too.
fn unit_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let exponent = matches!(bytes[at], b'e' | b'E')
            && bytes.get(at + 1).is_some_and(|next| next.is_ascii_digit() || matches!(next, b'+' | b'-'));
        if bytes[at].is_ascii_digit() || matches!(bytes[at], b'.' | b'+' | b'-' | b' ') || exponent {
            at += 1;
        } else {
            break;
        }
    }
    at
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitKind {
    Memory,
    Time,
}

/// Bytes or microseconds in a unit.
fn unit_size(unit: &str) -> Option<(UnitKind, f64)> {
    let size = match unit {
        "B" => (UnitKind::Memory, 1.0),
        "kB" => (UnitKind::Memory, 1024.0),
        "MB" => (UnitKind::Memory, 1024.0 * 1024.0),
        "GB" => (UnitKind::Memory, 1024.0 * 1024.0 * 1024.0),
        "TB" => (UnitKind::Memory, 1024.0 * 1024.0 * 1024.0 * 1024.0),
        "us" => (UnitKind::Time, 1.0),
        "ms" => (UnitKind::Time, 1e3),
        "s" => (UnitKind::Time, 1e6),
        "min" => (UnitKind::Time, 6e7),
        "h" => (UnitKind::Time, 3.6e9),
        "d" => (UnitKind::Time, 8.64e10),
        _ => return None,
    };
    Some(size)
}

/// `pg_settings.unit` may be a multiple: `8kB`.
fn setting_unit(unit: &str) -> Option<(UnitKind, f64)> {
    let letters = unit.find(|character: char| !character.is_ascii_digit())?;
    let count = if letters == 0 { 1.0 } else { unit[..letters].parse().ok()? };
    unit_size(&unit[letters..]).map(|(kind, size)| (kind, size * count))
}

/// Enum values have aliases that `pg_settings` never shows.
fn canonical_choice(name: &str, value: &str) -> String {
    let value = value.to_lowercase();
    match (name, value.as_str()) {
        ("wal_level", "archive" | "hot_standby") => "replica".into(),
        ("wal_compression", "on" | "true" | "yes" | "1") => "pglz".into(),
        ("client_min_messages" | "log_min_messages" | "log_min_error_statement", "debug") => "debug2".into(),
        (_, "true" | "yes" | "1") => "on".into(),
        (_, "false" | "no" | "0") => "off".into(),
        _ => value,
    }
}

/// Lists may differ in blanks and quotes without meaning.
fn list(value: &str) -> Vec<String> {
    value.split(',').map(|item| item.trim().trim_matches(['"', '\'']).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(name: &str, setting: &str, unit: &str, vartype: &str) -> CatalogEntry {
        CatalogEntry {
            name: name.into(),
            setting: setting.into(),
            unit: (!unit.is_empty()).then(|| unit.into()),
            vartype: vartype.into(),
            ..CatalogEntry::default()
        }
    }

    #[test]
    fn memory_of_settings() {
        let cases =
            [("128MB", "8kB", Some(128.0 * 1048576.0)), ("16", "8kB", Some(131072.0)), ("1s", "kB", None)];
        for (value, unit, wanted) in cases {
            assert_eq!(memory_bytes(value, unit), wanted, "{value}");
        }
    }

    #[test]
    fn written_values_against_values_in_force() {
        let cases = [
            ("shared_buffers", "16384", "8kB", "integer", "128MB", true),
            ("shared_buffers", "16384", "8kB", "integer", "16384", true),
            ("shared_buffers", "16384", "8kB", "integer", "131072kB", true),
            ("shared_buffers", "16384", "8kB", "integer", "0.125GB", true),
            ("shared_buffers", "16384", "8kB", "integer", "129MB", false),
            ("shared_buffers", "16384", "8kB", "integer", "128", false),
            ("shared_buffers", "16384", "8kB", "integer", "128min", false),
            ("checkpoint_timeout", "300", "s", "integer", "5min", true),
            ("checkpoint_timeout", "300", "s", "integer", "300000ms", true),
            ("max_wal_size", "1024", "MB", "integer", "1GB", true),
            ("random_page_cost", "1", "", "real", "1.0", true),
            ("random_page_cost", "1.1", "", "real", "1.10", true),
            ("random_page_cost", "4", "", "real", "1.0", false),
            ("cpu_tuple_cost", "0.01", "", "real", "1e-2", true),
            ("vacuum_cost_delay", "2", "ms", "real", "2000us", true),
            ("jit", "off", "", "bool", "false", true),
            ("jit", "off", "", "bool", "f", true),
            ("jit", "off", "", "bool", "o", false),
            ("jit", "on", "", "bool", "1", true),
            ("wal_compression", "pglz", "", "enum", "on", true),
            ("synchronous_commit", "on", "", "enum", "TRUE", true),
            ("synchronous_commit", "remote_apply", "", "enum", "on", false),
            ("wal_level", "replica", "", "enum", "hot_standby", true),
            ("wal_buffers", "512", "8kB", "integer", "-1", true),
            ("work_mem", "512", "kB", "integer", "-1", false),
            ("search_path", "\"$user\", public", "", "string", "$user,public", true),
            ("TimeZone", "UTC", "", "string", "utc", true),
            ("cluster_name", "a", "", "string", "b", false),
            ("log_file_mode", "384", "", "integer", "0x180", true),
        ];
        for (name, setting, unit, vartype, wanted, agrees) in cases {
            assert_eq!(
                is_in_force(wanted, &entry(name, setting, unit, vartype)),
                agrees,
                "{name} = {wanted}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(wanted in "\\PC{0,12}", setting in "\\PC{0,12}", unit in "[0-9]{0,3}[a-zA-Zä]{0,3}") {
            for vartype in ["bool", "enum", "integer", "real", "string"] {
                let _ = is_in_force(&wanted, &entry("x", &setting, &unit, vartype));
            }
        }

        #[test]
        fn megabytes_in_pages(megabytes in 1u32..100_000) {
            let pages = (u64::from(megabytes) * 128).to_string();
            let agrees = is_in_force(&format!("{megabytes}MB"), &entry("x", &pages, "8kB", "integer"));
            prop_assert!(agrees);
        }
    }
}
