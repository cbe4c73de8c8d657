//! Plain dumps of `pg_dump`: SQL, and rows of `COPY` between its statements, which only psql reads as they stand.

use std::io::{BufRead, Error, ErrorKind, Result};

use protocol::postgres::sql::Supply;

/// What begins every plain dump of a database.
const HEAD: &[u8] = b"-- PostgreSQL database dump";
/// What begins a dump for `pg_restore`.
const CUSTOM: &[u8] = b"PGDMP";
/// Lines that are not sent: commands for psql alone, and a setting that servers before PostgreSQL 17 do not know, at its
/// default.
const NOT_SENT: [&str; 3] = ["\\restrict ", "\\unrestrict ", "SET transaction_timeout = 0;"];
/// Longest SQL between two `COPY`, bytes.
const LONGEST: usize = 64 << 20;
/// Rows are sent in pieces of about this many bytes.
const PIECE: usize = 64 << 10;

/// What a file is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Sql,
    PlainDump,
    /// Only `pg_restore` reads it.
    CustomDump,
}

impl Format {
    pub(super) fn of(first: &[u8]) -> Self {
        if first.starts_with(CUSTOM) {
            return Self::CustomDump;
        }
        match first.windows(HEAD.len()).any(|part| part == HEAD) {
            true => Self::PlainDump,
            false => Self::Sql,
        }
    }
}

/// A part of a dump.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Sql(String),
    /// A `COPY … FROM stdin`, whose rows are read next, by [`Dump::rows`].
    Copy(String),
}

/// A dump, read part by part.
pub(super) struct Dump<R> {
    lines: R,
    /// A `COPY` that was read with the SQL before it.
    copy: Option<String>,
}

impl<R: BufRead> Dump<R> {
    pub(super) fn new(lines: R) -> Self {
        Self { lines, copy: None }
    }

    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// System errors; also for SQL that is not UTF-8, or too long.
    pub(super) fn part(&mut self) -> Result<Option<Part>> {
        if let Some(copy) = self.copy.take() {
            return Ok(Some(Part::Copy(copy)));
        }
        let mut sql = String::new();
        loop {
            let start = sql.len();
            if self.lines.read_line(&mut sql)? == 0 {
                break;
            }
            let line = &sql[start..];
            if NOT_SENT.iter().any(|not| line.starts_with(not)) {
                sql.truncate(start);
            } else if line.starts_with("COPY ") && line.trim_end().ends_with(" FROM stdin;") {
                self.copy = Some(sql.split_off(start));
                break;
            }
            if sql.len() > LONGEST {
                let why = "it has more than 64 MiB of SQL in one piece: dump the rows with COPY (without --inserts)";
                return Err(Error::new(ErrorKind::InvalidInput, why));
            }
        }
        match sql.trim().is_empty() {
            true => Ok(self.copy.take().map(Part::Copy)),
            false => Ok(Some(Part::Sql(sql))),
        }
    }

    /// Appends rows of the last `COPY`, up to the line `\.`.
    ///
    /// # Errors
    /// System errors; also if the dump ends within the rows.
    pub(super) fn rows(&mut self, out: &mut Vec<u8>) -> Result<Supply> {
        while out.len() < PIECE {
            let start = out.len();
            if self.lines.read_until(b'\n', out)? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "it ends within the rows of a COPY"));
            }
            if matches!(&out[start..], b"\\.\n" | b"\\.\r\n" | b"\\.") {
                out.truncate(start);
                return Ok(Supply::End);
            }
        }
        Ok(Supply::More)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "--\n-- PostgreSQL database dump\n--\n\n\\restrict k1\n\nSET transaction_timeout = 0;\nSET a = b;\n\
                        COPY public.t (a, b) FROM stdin;\n1\tone\n2\t\\\\.\n\\.\n\n\nCOPY public.none (a) FROM stdin;\n\\.\n\n\
                        ALTER TABLE t ADD PRIMARY KEY (a);\n\\unrestrict k1\n";

    fn rows(dump: &mut Dump<&[u8]>) -> String {
        let mut all = Vec::new();
        while dump.rows(&mut all).unwrap() == Supply::More {}
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_dump_is_sql_and_rows() {
        let mut dump = Dump::new(DUMP.as_bytes());
        let Some(Part::Sql(sql)) = dump.part().unwrap() else { panic!("SQL first") };
        assert!(sql.ends_with("\nSET a = b;\n") && !sql.contains("restrict") && !sql.contains("timeout"));
        let copy =
            |part: Option<Part>| matches!(part, Some(Part::Copy(copy)) if copy.starts_with("COPY public."));
        assert!(copy(dump.part().unwrap()));
        assert_eq!(rows(&mut dump), "1\tone\n2\t\\\\.\n");
        assert!(copy(dump.part().unwrap()));
        assert_eq!(rows(&mut dump), "");
        let wanted = Part::Sql("\nALTER TABLE t ADD PRIMARY KEY (a);\n".to_owned());
        assert_eq!(dump.part().unwrap(), Some(wanted));
        assert_eq!(dump.part().unwrap(), None);
    }

    #[test]
    fn a_dump_that_was_cut_is_named() {
        let mut dump = Dump::new(&b"COPY t (a) FROM stdin;\n1\n"[..]);
        assert!(matches!(dump.part().unwrap(), Some(Part::Copy(_))));
        let error = dump.rows(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("within the rows"), "{error}");
    }

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        assert_eq!(Format::of(DUMP.as_bytes()), Format::PlainDump);
        assert_eq!(Format::of(b"PGDMP\x01\x0e"), Format::CustomDump);
        assert_eq!(Format::of(b"CREATE TABLE t ();"), Format::Sql);
        assert_eq!(Format::of(b""), Format::Sql);
    }
}
