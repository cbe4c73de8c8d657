//! Reference pages that the code makes: `UPDATE=1 cargo test -p pgdyno --test house` writes them.
//!
//! What stands outside of the markers of a page is written by hand.

mod commands;
mod exit_codes;
mod experiment;
mod figures;
mod results_file;

use crate::{read, root};

const BEGIN: &str = "<!-- generated -->\n";
const END: &str = "<!-- end of generated -->\n";

/// Checks what stands between the markers of a page.
fn check(page: &str, generated: &str) {
    let path = format!("docs/reference/{page}");
    let found = read(&path);
    let (before, rest) = found.split_once(BEGIN).unwrap_or_else(|| panic!("{path} lacks {BEGIN}"));
    let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("{path} lacks {END}"));
    let wanted = [before, BEGIN, generated, END, after].concat();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root().join(&path), &wanted).unwrap_or_else(|error| panic!("{path}: {error}"));
    } else {
        assert!(found == wanted, "{path} is old: UPDATE=1 cargo test -p pgdyno --test house");
    }
}

/// A row of a table.
fn row(cells: &[&str]) -> String {
    let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// The head of a table.
fn head(columns: &[&str]) -> String {
    row(columns) + &row(&vec!["---"; columns.len()])
}
