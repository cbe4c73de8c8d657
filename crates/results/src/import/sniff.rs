//! The kind of a file, from its first bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::aggregate::Interval;
use super::log::row::{Fields, LogRow, unsigned};
use super::numbers::Tool;
use super::osm2pgsql;

pub(super) const HEAD: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Report,
    /// Output of pgdyno with `--format json`.
    Json,
    /// The log of a load by osm2pgsql.
    OsmLoad,
    /// What another load tester printed.
    Numbers(Tool),
    /// A log of `pgbench -l`, a line for each transaction.
    Transactions,
    Aggregates,
    /// Empty: the log of an idle thread.
    Empty,
}

/// Client numbers are smaller, seconds since 1970 larger (from 1973 on).
const EPOCH: u64 = 100_000_000;

/// Whether a file is an SQLite database. A pipe is not read: it can be read only once.
#[must_use]
pub fn is_database(path: &Path) -> bool {
    let mut head = [0; 16];
    let mut read = || File::open(path)?.read_exact(&mut head);
    path.is_file() && read().is_ok() && head == *b"SQLite format 3\0"
}

/// The kind of a file that begins with these bytes.
///
/// # Errors
/// What it is instead, and what to try.
pub(super) fn sniff(head: &[u8]) -> Result<FileKind, (String, String)> {
    let refused = |what: &str, advice: &str| Err((what.to_owned(), advice.to_owned()));
    if head.starts_with(b"\x1f\x8b") || head.starts_with(b"\x28\xb5\x2f\xfd") || head.starts_with(b"BZh") {
        return refused("compressed", "unpack it on the way: zcat FILE | pgdyno import -");
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return refused(
            "UTF-16 text, as PowerShell writes it",
            "iconv -f UTF-16 -t UTF-8 FILE | pgdyno import -",
        );
    }
    if head.contains(&0) {
        return refused(
            "not text",
            "give reports of pgbench, the files that pgbench -l writes, logs of osm2pgsql, or JSON that pgdyno bench printed",
        );
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let Some(first) = head.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()) else {
        return Ok(FileKind::Empty);
    };
    let kind = kind_of(first);
    if !is_json(head) && kind != FileKind::Report {
        return Ok(kind);
    }
    // A log of docker has an object for each line.
    if osm2pgsql::is_log(head) {
        return Ok(FileKind::OsmLoad);
    }
    if let Some(tool) = Tool::of(head) {
        return Ok(FileKind::Numbers(tool));
    }
    Ok(if is_json(head) { FileKind::Json } else { kind })
}

/// Whether it begins like a JSON object or a list of objects, not like a line such as `[2026-01-02 …]`.
fn is_json(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    let after =
        |first: u8| head.strip_prefix(&[first]).and_then(|rest| rest.trim_ascii_start().first().copied());
    matches!(after(b'{'), Some(b'"' | b'}')) || matches!(after(b'['), Some(b'{' | b']'))
}

fn kind_of(line: &[u8]) -> FileKind {
    let mut fields = Fields(line);
    let numbers: [Option<u64>; 2] = std::array::from_fn(|_| fields.take().and_then(unsigned));
    let more = std::iter::from_fn(|| fields.take()).count();
    match numbers {
        [Some(first), Some(_)] if first >= EPOCH && (more >= 4 || Interval::parse(line).is_ok()) => {
            FileKind::Aggregates
        }
        [Some(_), Some(_)] if more >= 4 || LogRow::parse(line).is_ok() => FileKind::Transactions,
        _ => FileKind::Report,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_line() {
        for (head, wanted) in [
            ("", FileKind::Empty),
            ("\n \n", FileKind::Empty),
            ("0 199 2241 0 1175850568 995598\n0 200", FileKind::Transactions),
            ("0 1 skipped 0 1175850568 995598 12\n", FileKind::Transactions),
            ("0 1 damaged 0 1175850568 995598 12\n", FileKind::Transactions),
            ("1345828501 5601 1542744 483552416 61 2573\n", FileKind::Aggregates),
            ("1649114136 5815 27552565 177846919143078 1078 86241 0 0 0 0 0 0 0 0 0", FileKind::Aggregates),
            ("\u{feff}pgbench (15.1)\n", FileKind::Report),
            ("starting vacuum...end.\n", FileKind::Report),
            ("2 apples\n", FileKind::Report),
            ("[2026-01-02 03:04:05] pgbench (15.1)\n", FileKind::Report),
            ("\n[\n  {\"script\": 1}\n]\n", FileKind::Json),
            ("{\"schema\": \"pgdyno-pgbench/1\"}", FileKind::Json),
            ("[]", FileKind::Json),
            ("2026-11-21 02:42:26  osm2pgsql version 1.8.0\n", FileKind::OsmLoad),
            ("$ osm2pgsql -s x.pbf\nosm2pgsql version 1.2.1 (64 bit id space)\n", FileKind::OsmLoad),
            ("\r   \r2026-11-21 02:42:29  Reading input files done in 3s.\n", FileKind::OsmLoad),
            ("osm2pgsql version?\npgbench (15.1)\n", FileKind::Report),
            ("> osm2pgsql SVN version 0.85.0 (64bit id space)\n>\n", FileKind::OsmLoad),
            (
                "import_1  | Processing: Node(5k 1.0k/s) Way(0k 0.00k/s) Relation(0 0.00/s)\n",
                FileKind::OsmLoad,
            ),
            (
                "{\"log\":\"Using PBF parser.\\n\"}\n{\"log\":\"Node stats: total(5), max(9) in 3s\\n\"}\n",
                FileKind::OsmLoad,
            ),
            (
                "Vuser 1:TEST RESULT : System achieved 9 NOPM from 20 PostgreSQL TPM\n",
                FileKind::Numbers(Tool::HammerDb),
            ),
            ("sysbench 1.0.20 (using system LuaJIT 2.1.0)\n", FileKind::Numbers(Tool::Sysbench)),
            ("{\n  \"Throughput (requests/second)\": 5.5\n}\n", FileKind::Numbers(Tool::BenchBase)),
            ("she said osm2pgsql version 1.8.0\n", FileKind::Report),
        ] {
            assert_eq!(sniff(head.as_bytes()), Ok(wanted), "{head}");
        }
        for (head, wanted) in [
            (&b"\x1f\x8b\x08"[..], "compressed"),
            (b"\xff\xfet\0r\0", "UTF-16 text, as PowerShell writes it"),
            (b"SQLite format 3\0", "not text"),
        ] {
            assert_eq!(sniff(head).unwrap_err().0, wanted);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(head in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = sniff(&head);
        }
    }
}
