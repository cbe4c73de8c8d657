//! Comments of public items.

use crate::{root, sources};

/// Whether a line declares a public item that needs documentation: not a field, a variant or a re-export.
fn declares(line: &str) -> bool {
    const ITEMS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "const", "static", "type"];
    let Some(rest) = line.trim_start().strip_prefix("pub ") else { return false };
    let mut words = rest.split_whitespace().skip_while(|word| ["async", "unsafe", "extern"].contains(word));
    words.next().is_some_and(|word| ITEMS.contains(&word))
}

fn undocumented(text: &str) -> Vec<&str> {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let (mut documented, mut in_attribute, mut found) = (false, false, Vec::new());
    for line in text.lines() {
        let code = line.trim();
        if code.starts_with("///") {
            documented = true;
        } else if in_attribute || code.starts_with("#[") {
            in_attribute = !code.ends_with(']');
        } else if !code.starts_with("//") {
            if declares(line) && !documented {
                found.push(code);
            }
            documented = false;
        }
    }
    found
}

/// rustc's `missing_docs` also requires comments on every field and variant, which led to "How many." and
/// "The file.". Here items and modules need them; fields and variants only if they say more than the name.
#[test]
fn public_items_have_docs() {
    let sample = "/// Said.\n#[derive(\n    Debug,\n)]\npub struct A {\n    pub field: u8,\n}\npub const fn b() {}\npub(crate) fn c() {}";
    assert_eq!(undocumented(sample), ["pub const fn b() {}"]);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates").flatten() {
        sources(&entry.path().join("src"), &mut files);
    }
    let mut lacking = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("UTF-8");
        lacking.extend(undocumented(&text).into_iter().map(|item| format!("{}: {item}", file.display())));
        if !text.starts_with("//!") {
            lacking.push(format!("{}: what the module is for", file.display()));
        }
    }
    assert!(files.len() > 300, "{} files", files.len());
    assert!(lacking.is_empty(), "no words before:\n{}", lacking.join("\n"));
}
