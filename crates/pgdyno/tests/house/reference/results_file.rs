//! Tables and views of the results file, with the comments of the schema.

use rusqlite::Connection;

use super::check;
use crate::read;

/// Text of the comments directly before a line, and what is left of the text before it.
fn comment_before(lines: &[&str], at: usize) -> String {
    let comments = lines[..at].iter().rev().map_while(|line| line.trim_start().strip_prefix("-- "));
    comments.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_table_of_the_results_file_is_in_its_page() {
    let schema = read("crates/results/src/schema.sql");
    let file = Connection::open_in_memory().expect("SQLite");
    file.execute_batch(&schema).expect("the schema is SQL");
    let lines: Vec<_> = schema.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(at, line)| {
        let rest = ["CREATE TABLE ", "CREATE VIEW "].iter().find_map(|word| line.strip_prefix(word))?;
        Some((at, rest.split_whitespace().next()?))
    });
    let mut page = String::new();
    let mut lacking = Vec::new();
    for (at, name) in starts {
        let mut asked = file.prepare("SELECT name FROM pragma_table_info(?1)").expect("a query");
        let columns = asked.query_map([name], |row| row.get::<_, String>(0)).expect("columns");
        let columns: Vec<_> = columns.map(|column| format!("`{}`", column.expect("a name"))).collect();
        let meaning = comment_before(&lines, at);
        if meaning.is_empty() {
            lacking.push(name);
        }
        page += &format!("\n## `{name}`\n\n{meaning}\n\nColumns: {}.\n", columns.join(", "));
        let ends = lines[at..].iter().position(|line| line.starts_with(')') || line.ends_with(';'));
        let columns = (at + 1..at + ends.unwrap_or(0)).filter(|at| lines[*at].starts_with("    "));
        let is_view = lines[at].starts_with("CREATE VIEW");
        let remarks = columns.filter(|_| !is_view).filter_map(|at| {
            let column = lines[at].split_whitespace().next().filter(|word| *word != "--")?;
            let remark = comment_before(&lines, at);
            (!remark.is_empty()).then(|| format!("- `{column}`: {}.\n", remark.trim_end_matches('.')))
        });
        let remarks = remarks.collect::<String>();
        if !remarks.is_empty() {
            page += &format!("\n{remarks}");
        }
    }
    assert!(lacking.is_empty(), "schema.sql: no comment before {lacking:?}");
    check("results-file.md", &(page + "\n"));
}
