//! Exit codes, with the comments of their constants.

use super::{check, head, row};
use crate::read;

#[test]
fn every_exit_code_is_in_its_page() {
    let mut table = head(&["code", "meaning"]);
    let mut meaning = String::new();
    let mut seen = 0;
    for line in read("crates/pgdyno/src/exit.rs").lines() {
        if let Some(comment) = line.strip_prefix("/// ") {
            meaning += comment;
            meaning.push(' ');
        } else {
            if let Some((_, code)) = line.split_once(": u8 = ") {
                assert!(!meaning.is_empty(), "exit.rs: no comment before {line}");
                table += &row(&[code.trim_end_matches(';'), meaning.trim_end()]);
                seen += 1;
            }
            meaning.clear();
        }
    }
    assert!(seen > 10, "{seen} exit codes in exit.rs");
    check("exit-codes.md", &table);
}
