//! What a PostgreSQL server sends to a connection that is ready.
//!
//! Whatever the bytes: the same messages, counts and error come out however they are cut, no byte is used that is
//! not there, no more is kept than one incomplete message, and rows that are skipped, with their description, count like rows that are read.

use std::sync::Arc;

use protocol::postgres::{
    Connection, Counted, DataRow, FrameError, Login, Message, RowDescription, ServerError, Want,
};

/// Sizes of the pieces the bytes arrive in.
const CUTS: [usize; 3] = [1, 2, 7];
/// Fewest bytes that tell how long a message is, and of how many columns a row is.
const ROW_HEAD: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rows {
    Read,
    Skip,
    /// Read and skipped by turns, from one message to the next.
    InTurn,
}

#[derive(Debug, PartialEq)]
struct Seen {
    messages: Vec<String>,
    counts: Counted,
    /// How many bytes were left at the end.
    end: Result<usize, FrameError>,
}

pub fn run(data: &[u8]) {
    let [read, skipped, _] = [Rows::Read, Rows::Skip, Rows::InTurn].map(|rows| {
        let whole = feed(data, rows, data.len());
        for size in CUTS {
            assert_eq!(feed(data, rows, size), whole, "{rows:?} in pieces of {size}");
        }
        whole
    });
    if read.end == Ok(0) {
        assert_eq!(skipped.end, Ok(0));
        assert_eq!(skipped.counts, read.counts);
        let passed_over = |message: &String| message.starts_with("row ") || message.starts_with("columns ");
        let others: Vec<_> = read.messages.into_iter().filter(|message| !passed_over(message)).collect();
        assert_eq!(skipped.messages, others);
    }
}

/// Feeds `data` in pieces of `size`, keeping unused bytes.
fn feed(data: &[u8], rows: Rows, size: usize) -> Seen {
    let mut connection = Connection::new(Arc::new(Login::new("u", "d")));
    let (mut buffer, mut messages) = (Vec::new(), Vec::new());
    for piece in data.chunks(size.max(1)) {
        buffer.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let skip = rows == Rows::Skip || rows == Rows::InTurn && messages.len() % 2 == 1;
            connection.request_rows(if skip { Want::Skip } else { Want::Read });
            let before = at;
            let next = connection.next(&buffer, &mut at);
            assert!(before <= at && at <= buffer.len(), "from {before} to {at} of {}", buffer.len());
            match next {
                Ok(Some(message)) => {
                    assert!(at > before, "a message out of nothing");
                    messages.push(describe(&message));
                }
                Ok(None) => {
                    check_kept(&buffer[at..], skip);
                    break;
                }
                Err(error) => {
                    return Seen { messages, counts: connection.take_counts(), end: Err(bare(error)) };
                }
            }
        }
        buffer.drain(..at);
    }
    Seen { messages, counts: connection.take_counts(), end: Ok(buffer.len()) }
}

/// The first byte is enough to detect a stranger, before the length has arrived.
fn bare(error: FrameError) -> FrameError {
    match error {
        FrameError::UnknownMessage { tag, .. } => FrameError::UnknownMessage { tag, length: 0 },
        error => error,
    }
}

/// What is kept is less than one message, and of a skipped row less than its head.
fn check_kept(kept: &[u8], skip: bool) {
    if let Some(&[tag, a, b, c, d]) = kept.first_chunk() {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        assert!(kept.len() < 1 + length, "{} bytes kept for a message of {length}", kept.len());
        assert!(
            !skip || !matches!(tag, b'D' | b'd' | b'T') || kept.len() < ROW_HEAD,
            "{} bytes kept",
            kept.len()
        );
    }
}

/// All that can be seen of a message; looks at every part of it.
fn describe(message: &Message<'_>) -> String {
    match message {
        Message::DataRow(row) => format!("row {:?}", values(row)),
        Message::CopyData(data) => format!("row {data:?}"),
        Message::RowDescription(columns) => format!("columns {}", names(columns)),
        Message::Error(fields) | Message::Notice(fields) => {
            let error = fields.to_owned();
            format!("error {} {error} {}", fields.code(), texts(&error))
        }
        Message::ParameterDescription(types) => {
            let oids: Vec<_> = types.iter().collect();
            assert_eq!((oids.len(), oids.is_empty()), (types.len(), types.is_empty()));
            format!("types {oids:?}")
        }
        Message::CommandComplete(tag) => format!("{tag:?} {} {:?}", tag.as_str(), tag.rows()),
        other => format!("{other:?}"),
    }
}

fn values<'a>(row: &DataRow<'a>) -> Vec<Option<&'a [u8]>> {
    let values: Vec<_> = row.iter().collect();
    assert_eq!((values.len(), values.is_empty()), (row.len(), row.is_empty()));
    assert_eq!(values.iter().flatten().map(|value| value.len()).sum::<usize>(), row.payload());
    assert_eq!(values.last().copied().flatten(), row.column(row.len().saturating_sub(1)));
    assert_eq!(row.column(row.len()), None);
    values
}

fn names(columns: &RowDescription<'_>) -> String {
    let all: Vec<_> = columns.iter().collect();
    assert_eq!((all.len(), all.is_empty()), (columns.len(), columns.is_empty()));
    format!("{all:?}")
}

/// An error's texts with and without its query.
fn texts(error: &ServerError) -> String {
    let query =
        "select 1,\r\n\t'日本語 e\u{301}' from a_table_with_a_long_name where another_long_name = 'value'";
    format!("{} {}", error.is_fatal(), error.libpq_text(Some(query)))
}
