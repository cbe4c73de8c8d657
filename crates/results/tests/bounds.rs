//! A separate process: the limit of SQLite's memory holds for the whole process.

use results::{CellValue, Store};
use spec::Class;

/// Regression: each of these queries took all memory.
#[test]
fn a_query_is_bounded_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    drop(Store::create_or_open(&path).unwrap());
    let endless =
        |end: &str| format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) {end}");
    let distinct = "WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let cases = [
        (endless("SELECT i, 'row' FROM n"), "returns"),
        (endless("SELECT randomblob(100000) FROM n"), "returns"),
        (endless("SELECT i FROM n ORDER BY -i"), "needs"),
        (endless("SELECT group_concat(hex(i)) FROM n"), "needs"),
        (distinct.to_owned(), "needs"),
        ("SELECT zeroblob(50 * 1024 * 1024)".to_owned(), "makes a value of"),
    ];
    let limit = 32 << 20;
    for (sql, what) in cases {
        let store = Store::open_read_only(&path).unwrap();
        let error = store.query_within(&sql, limit).unwrap_err();
        assert_eq!(error.class(), Class::Usage, "{sql}: {error}");
        let text = error.to_string();
        assert!(
            text.contains(what) && text.contains("32.0 MB") && text.contains("--max-size"),
            "{sql}: {text}"
        );
    }
    let store = Store::open_read_only(&path).unwrap();
    let rows = store.query_within("SELECT length(zeroblob(10000))", limit).unwrap().rows;
    assert_eq!(rows, [[CellValue::Int(10000)]]);
}
