//! serde's messages about unknown words and wrong types, in the words of `docs/reference/experiment.md`.

use workloads::Spec;

use super::problem::{Wrong, suggestion};

/// The mistake at this place, and what to write instead. Messages of our own types end with a line of advice.
pub(super) fn of(message: &str, path: Vec<String>) -> Wrong {
    let place = dotted(&path);
    let table = dotted(&path[..path.len().saturating_sub(1)]);
    for kind in ["unknown field ", "unknown variant "] {
        if let Some((word, rest)) = message.strip_prefix(kind).and_then(|rest| rest.split_once(", ")) {
            let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
            let word = word.trim_matches('`');
            let what = match kind {
                "unknown field " => format!("unknown key `{word}`{}", within(&table)),
                _ if table.starts_with("workload.") => {
                    format!("unknown kind of workload `{word}`{}", within(&table))
                }
                _ => format!("`{place}` cannot be \"{word}\""),
            };
            return Wrong { path, key: None, said: what, hint: suggestion(word, &known) };
        }
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        let (said, hint) = missing(&place, field.trim_matches('`'));
        return Wrong { path, key: None, said, hint };
    }
    let (message, hint) = match message.split_once('\n') {
        Some((message, hint)) => (message, Some(hint.to_owned())),
        None => (message, None),
    };
    let said = wrong_type(message).unwrap_or_else(|| message.to_owned());
    let colon = if said.starts_with("must ") || said.starts_with("cannot ") { "" } else { ":" };
    Wrong { key: Some(format!("`{place}`{colon}")), path, said, hint }
}

const ADVICE: [(&str, &str); 8] = [
    ("question", "say in one sentence what you want to know: question = \"…?\""),
    ("target", "add [target] with managed = {} (a private server) or url = \"postgres://…\""),
    ("workload", "describe at least one: [workload.lookup] pgbench = { builtin = \"select-only\" }"),
    ("compare.base", "name the arm that the others are compared with"),
    ("compare.factor", "factor = \"settings\""),
    ("beside.workload", "name the workloads that run outside the grid"),
    ("load.users.think", "the pause between two transactions: think = \"1s\""),
    ("measure.duration", "duration = { from = \"1s\", to = \"10s\" }"),
];

pub(super) fn missing(table: &str, key: &str) -> (String, Option<String>) {
    let path = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    let advice = ADVICE.iter().find(|(known, _)| *known == path || *known == table);
    (format!("`{key}` is missing{}", within(table)), advice.map(|(_, advice)| (*advice).to_owned()))
}

fn within(table: &str) -> String {
    if table.is_empty() { String::new() } else { format!(" in [{table}]") }
}

/// `measure.rounds`; elements of a list take its name.
pub(super) fn dotted(path: &[String]) -> String {
    path.iter().filter(|step| !step.starts_with('[')).map(String::as_str).collect::<Vec<_>>().join(".")
}

fn wrong_type(message: &str) -> Option<String> {
    for kind in ["invalid type: ", "invalid value: "] {
        let parts = message.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, wanted)) = parts {
            return Some(format!("must be {}, not {}", wanted_in_words(wanted), found_in_words(found)));
        }
    }
    if let Some((found, wanted)) = message
        .strip_prefix("invalid length ")
        .and_then(|rest| rest.split_once(", expected an array of length "))
    {
        return Some(format!("must be a list of {wanted}, not of {found}"));
    }
    if message.starts_with("wanted exactly 1 element") {
        return Some(format!("must have exactly one of {}", Spec::KINDS.join(", ")));
    }
    if message == "wanted string or table" {
        return Some(format!("must be {}", a_workload()));
    }
    // Our own types describe themselves: "a text or a list of texts".
    (message.starts_with("a ") || message.starts_with('"')).then(|| format!("must be {message}"))
}

fn a_workload() -> String {
    format!("a table with one of {}", Spec::KINDS.join(", "))
}

fn wanted_in_words(wanted: &str) -> String {
    let words = match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more and not too large",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string" | "path string" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        _ if wanted.starts_with("struct ") => "a table, such as { … }",
        _ if wanted.contains("enum ") || wanted.contains("variant") => return a_workload(),
        _ => return wanted.replace("an array of length", "a list of"),
    };
    words.to_owned()
}

fn found_in_words(found: &str) -> String {
    let found = found.replace('`', "").replace(" as i128", "").replace(" as u128", "");
    for (kind, word) in
        [("floating point ", ""), ("integer ", ""), ("boolean ", ""), ("string ", "the text ")]
    {
        if let Some(value) = found.strip_prefix(kind) {
            return format!("{word}{value}");
        }
    }
    match found.as_str() {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        serde: &'static str,
        ours: &'static str,
        hint: Option<&'static str>,
    }

    #[test]
    #[rustfmt::skip]
    fn serde_is_translated() {
        let case = |serde, ours, hint| Case { serde, ours, hint };
        let cases = [
            case("unknown field `zoms`, expected one of `table`, `zooms`", "unknown key `zoms` in [workload]", Some("did you mean `zooms`?")),
            case("unknown field `q`, expected `set`", "unknown key `q` in [workload]", Some("known here: set")),
            case("missing field `command`", "`command` is missing in [workload.a]", None),
            case("invalid type: floating point `1.5`, expected struct Options", "`workload.a` must be a table, such as { … }, not 1.5", None),
            case("invalid type: string \"x, y\", expected u32", "`workload.a` must be a whole number, 0 or more and not too large, not the text \"x, y\"", None),
            case("invalid type: integer `3`, expected a text or a list of texts", "`workload.a` must be a text or a list of texts, not 3", None),
            case("invalid length 3, expected an array of length 2", "`workload.a` must be a list of 2, not of 3", None),
            case("a text or a list of texts", "`workload.a` must be a text or a list of texts", None),
            case("must be 3\nwrite 3", "`workload.a` must be 3", Some("write 3")),
            case("anything else", "`workload.a`: anything else", None),
        ];
        let path = ["workload", "a"].map(str::to_owned);
        for Case { serde, ours, hint } in cases {
            let Wrong { key, said, hint: told, .. } = of(serde, path.to_vec());
            let whole = key.map_or_else(|| said.clone(), |key| format!("{key} {said}"));
            assert_eq!((whole.as_str(), told.as_deref()), (ours, hint));
        }
    }
}
