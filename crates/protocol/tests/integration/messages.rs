//! Whatever way the bytes are cut, the same messages come out; and no bytes make the decoder panic.

use std::sync::Arc;

use proptest::prelude::*;
use protocol::postgres::{Connection, Counted, FrameError, Login, Message, TxStatus, Want};

fn connection() -> Connection {
    Connection::new(Arc::new(Login::new("u", "d")))
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1_i32).to_be_bytes()),
            Some(value) => {
                body.extend_from_slice(&(value.len() as u32).to_be_bytes());
                body.extend_from_slice(value);
            }
        }
    }
    message(b'D', &body)
}

/// One of each message, in an order a server could send them in.
fn conversation() -> Vec<u8> {
    let column = |name: &[u8]| [name, b"\0\0\0\x30\x39\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01"].concat();
    [
        message(b'S', b"TimeZone\0UTC\0"),
        message(b'1', b""),
        message(b't', b"\0\x02\0\0\0\x17\0\0\0\x19"),
        message(b'n', b""),
        message(b'2', b""),
        message(b'T', &[b"\0\x02", &column(b"id")[..], &column(b"name")[..]].concat()),
        row(&[Some(b"1"), None]),
        row(&[Some(b""), Some(&[b'x'; 9])]),
        row(&[]),
        message(b's', b""),
        message(b'C', b"SELECT 3\0"),
        message(b'3', b""),
        message(b'I', b""),
        message(b'N', b"SNOTICE\0C00000\0Mhello\0\0"),
        message(b'E', b"SERROR\0VERROR\0C40001\0Mcould not serialize\0Zunknown\0\0"),
        message(b'G', b"\0\0\x02\0\0\0\0"),
        message(b'H', b"\x01\0\x01\0\x01"),
        message(b'd', b"1\t2\n"),
        message(b'c', b""),
        message(b'W', b"\0\0\0"),
        message(b'A', b"\0\0\x12\x34channel\0payload\0"),
        message(b'Z', b"T"),
    ]
    .concat()
}

/// What a reader of the messages sees.
fn describe(message: &Message<'_>) -> String {
    match message {
        Message::DataRow(row) => format!("row {:?}", row.iter().collect::<Vec<_>>()),
        Message::RowDescription(columns) => format!("columns {:?}", columns.iter().collect::<Vec<_>>()),
        Message::Error(fields) | Message::Notice(fields) => {
            format!("{} {:?}", fields.code(), fields.to_owned())
        }
        Message::ParameterDescription(types) => format!("types {:?}", types.iter().collect::<Vec<_>>()),
        other => format!("{other:?}"),
    }
}

/// What was seen and counted, and the most bytes that had to be kept.
type Seen = (Vec<String>, Counted, usize);

/// Feeds `bytes` in pieces of these sizes, keeping unused bytes.
fn feed(bytes: &[u8], want: Want, sizes: &[usize]) -> Result<Seen, FrameError> {
    let mut connection = connection();
    connection.request_rows(want);
    let (mut buffer, mut seen, mut kept) = (Vec::new(), Vec::new(), 0);
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        let (piece, behind) = rest.split_at((*size).min(rest.len()));
        rest = behind;
        buffer.extend_from_slice(piece);
        let mut at = 0;
        while let Some(message) = connection.next(&buffer, &mut at)? {
            seen.push(describe(&message));
        }
        buffer.drain(..at);
        kept = kept.max(buffer.len());
        if rest.is_empty() {
            break;
        }
    }
    assert!(buffer.is_empty(), "{} bytes left over", buffer.len());
    Ok((seen, connection.take_counts(), kept))
}

#[test]
fn every_message_is_understood() {
    let (seen, counts, _) = feed(&conversation(), Want::Read, &[usize::MAX]).expect("good bytes");
    insta::assert_snapshot!(seen.join("\n"));
    assert_eq!(counts, Counted { rows: 4, bytes: 1 + 9 + 4, queries: 1, ..Counted::default() });
}

#[test]
fn the_pieces_do_not_matter() {
    let bytes = conversation();
    for want in [Want::Read, Want::Skip] {
        let (whole, counts, _) = feed(&bytes, want, &[usize::MAX]).expect("good bytes");
        for size in [1, 2, 3, 7, 4096] {
            let (seen, pieces, _) = feed(&bytes, want, &[size]).expect("good bytes");
            assert_eq!(seen, whole, "{want:?} in pieces of {size}");
            assert_eq!(pieces, counts, "{want:?} in pieces of {size}");
        }
    }
}

#[test]
fn skipped_rows_are_counted_alike_and_the_rest_stays() {
    let bytes = conversation();
    let (read, read_counts, _) = feed(&bytes, Want::Read, &[usize::MAX]).expect("good bytes");
    let (skipped, skip_counts, _) = feed(&bytes, Want::Skip, &[usize::MAX]).expect("good bytes");
    let passed_over = ["row", "columns", "CopyData"];
    let others: Vec<_> =
        read.into_iter().filter(|line| !passed_over.iter().any(|start| line.starts_with(start))).collect();
    assert_eq!(skipped, others);
    assert_eq!(skip_counts, read_counts);
}

#[test]
fn a_large_row_passes_a_small_buffer() {
    let value = vec![b'x'; 3_000_000];
    let bytes = [row(&[Some(&value), None]), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    let (seen, counts, kept) = feed(&bytes, Want::Skip, &[4096]).expect("good bytes");
    assert_eq!(seen.len(), 2);
    assert_eq!((counts.rows, counts.bytes), (1, 3_000_000));
    assert!(kept < 16, "{kept} bytes kept");
}

#[test]
fn what_was_wanted_may_change_between_rows() {
    let bytes = [row(&[Some(b"first")]), row(&[Some(b"second")])].concat();
    let mut connection = connection();
    connection.request_rows(Want::Skip);
    let mut at = 0;
    // The first row is half here; then rows are wanted.
    assert_eq!(connection.next(&bytes[..8], &mut at), Ok(None));
    connection.request_rows(Want::Read);
    let Ok(Some(Message::DataRow(second))) = connection.next(&bytes, &mut at) else {
        panic!("the second row");
    };
    assert_eq!(second.column(0), Some(&b"second"[..]));
    assert_eq!(second.column(1), None);
    let counted = connection.take_counts();
    assert_eq!((at, counted.rows, counted.bytes), (bytes.len(), 2, 11));
    assert_eq!(connection.take_counts(), Counted::default());
}

/// A statement's rows and its tag.
type Statement = (usize, &'static str);
/// Queries, changes, rows affected.
type Judged = (u32, u32, u64);

fn judged(statements: &[Statement]) -> Judged {
    let mut bytes = Vec::new();
    for (rows, tag) in statements {
        bytes.extend((0..*rows).flat_map(|_| row(&[Some(b"1")])));
        bytes.extend(message(b'C', &[tag.as_bytes(), b"\0"].concat()));
    }
    let (_, counted, _) = feed(&bytes, Want::Skip, &[usize::MAX]).expect("good bytes");
    (counted.queries, counted.changes, counted.affected)
}

#[test]
fn statements_are_counted_by_their_rows_and_tags() {
    let cases: [(&[Statement], Judged); 15] = [
        (&[(1, "SELECT 1"), (0, "SELECT 0"), (0, "FETCH 0"), (2, "FETCH 2")], (4, 0, 0)),
        (&[(1, "SHOW"), (3, "EXPLAIN"), (1, "CALL")], (3, 0, 0)),
        (&[(0, "CALL"), (0, "DO"), (0, "SET"), (0, "BEGIN"), (0, "COMMIT"), (0, "CREATE TABLE")], (0, 0, 0)),
        (&[(0, "DROP TABLE"), (0, "DECLARE CURSOR"), (0, "DISCARD ALL"), (0, "MOVE 5")], (0, 0, 0)),
        (&[(0, "INSERT 0 3")], (0, 1, 3)),
        (&[(0, "INSERT 0 0")], (0, 1, 0)),
        (&[(0, "UPDATE 0")], (0, 1, 0)),
        (&[(0, "UPDATE 12")], (0, 1, 12)),
        (&[(0, "DELETE 1")], (0, 1, 1)),
        (&[(0, "MERGE 4")], (0, 1, 4)),
        (&[(2, "UPDATE 2")], (1, 1, 2)),
        (&[(0, "SELECT 7")], (0, 1, 7)),
        (&[(1, "SELECT 1"), (0, "UPDATE 1"), (0, "SELECT 0")], (2, 1, 1)),
        (&[(0, "")], (0, 0, 0)),
        (&[(0, "UPDATE x")], (0, 0, 0)),
    ];
    for (statements, wanted) in cases {
        assert_eq!(judged(statements), wanted, "{statements:?}");
    }
}

#[test]
fn status_and_settings_are_kept() {
    let mut connection = connection();
    let bytes = conversation();
    let mut at = 0;
    while connection.next(&bytes, &mut at).expect("good bytes").is_some() {}
    assert_eq!(connection.status(), TxStatus::InTransaction);
    assert_eq!(connection.setting("TimeZone"), Some("UTC"));
    let later = message(b'S', b"TimeZone\0Asia/Tokyo\0");
    assert!(connection.next(&later, &mut 0).expect("good bytes").is_some());
    assert_eq!(connection.setting("TimeZone"), Some("Asia/Tokyo"));
}

#[test]
fn garbage_is_told_from_half_a_message() {
    let length = |tag: u8, length: u32| [&[tag][..], &length.to_be_bytes()].concat();
    for (what, bytes, expected) in [
        (
            "HTTP",
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            "lost synchronization with server: got message type \"H\", length 1414811695",
        ),
        (
            "SSH",
            b"SSH-2.0".to_vec(),
            "lost synchronization with server: got message type \"S\", length 1397239090",
        ),
        (
            "first byte",
            b"\xff".to_vec(),
            "lost synchronization with server: got message type 0xff, length 0; is it a PostgreSQL server?",
        ),
        (
            "2 GB row",
            length(b'D', 0x8000_0000),
            "lost synchronization with server: got message type \"D\", length 2147483648",
        ),
        ("too short", length(b'Z', 3), "lost synchronization with server: got message type \"Z\", length 3"),
        (
            "long tag",
            length(b'C', 40_000),
            "lost synchronization with server: got message type \"C\", length 40000",
        ),
        (
            "row",
            message(b'D', b"\0\x01\0\0\0\x05abc"),
            "message contents do not agree with length in message type \"D\": too short",
        ),
        (
            "row end",
            message(b'D', b"\0\0x"),
            "message contents do not agree with length in message type \"D\": longer than its columns",
        ),
        (
            "tag",
            message(b'C', b"SELECT"),
            "message contents do not agree with length in message type \"C\": string without an end",
        ),
        (
            "status",
            message(b'Z', b"?"),
            "message contents do not agree with length in message type \"Z\": unknown transaction status",
        ),
        ("late", message(b'R', b"\0\0\0\0"), "unexpected message type \"R\" from server during a query"),
    ] {
        let error = connection().next(&bytes, &mut 0).expect_err(what);
        assert_eq!(error.to_string(), expected, "{what}");
    }
    for body in [&b""[..], b"\0", b"\0\x05abc"] {
        let mut connection = connection();
        connection.request_rows(Want::Skip);
        assert!(connection.next(&message(b'D', body), &mut 0).is_err(), "skipped row of {body:?}");
    }
}

/// Bytes that look like messages often enough to reach the decoders.
fn almost_messages() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop::sample::select(b"DZC2T1 3nIsENtGHWdcSARKv".to_vec());
    let piece = (tag, prop::collection::vec(any::<u8>(), 0..60)).prop_map(|(tag, body)| message(tag, &body));
    prop::collection::vec(prop_oneof![9 => piece, 1 => prop::collection::vec(any::<u8>(), 0..9)], 0..9)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in almost_messages(), want in prop::sample::select(vec![Want::Read, Want::Skip])) {
        let mut connection = connection();
        connection.request_rows(want);
        let mut at = 0;
        while let Ok(Some(message)) = connection.next(&bytes, &mut at) {
            describe(&message);
            if let Message::Error(fields) = message {
                let _ = fields.to_owned().libpq_text(Some("select 1\nfrom t"));
            }
        }
        prop_assert!(at <= bytes.len());
    }

    #[test]
    fn any_cut_gives_the_same(sizes in prop::collection::vec(1_usize..90, 1..9), skip in any::<bool>()) {
        let want = if skip { Want::Skip } else { Want::Read };
        let whole = feed(&conversation(), want, &[usize::MAX]).expect("good bytes");
        let pieces = feed(&conversation(), want, &sizes).expect("good bytes");
        prop_assert_eq!((whole.0, whole.1), (pieces.0, pieces.1));
    }

    #[test]
    fn rows_read_back(values in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..50)), 0..9)) {
        let values: Vec<Option<&[u8]>> = values.iter().map(|value| value.as_deref()).collect();
        let bytes = row(&values);
        let mut connection = connection();
        let mut at = 0;
        let Ok(Some(Message::DataRow(row))) = connection.next(&bytes, &mut at) else {
            panic!("a row");
        };
        prop_assert_eq!(row.iter().collect::<Vec<_>>(), values.clone());
        prop_assert_eq!(row.payload(), values.iter().flatten().map(|value| value.len()).sum::<usize>());
        for (index, value) in values.iter().enumerate() {
            prop_assert_eq!(row.column(index), *value);
        }
    }
}

/// A row of 1 GiB was waited for, and kept, as far as the memory went.
#[test]
fn a_message_that_is_too_long_for_memory_is_refused_by_its_header() {
    let begun = |tag: u8, length: u32| [&[tag][..], &length.to_be_bytes(), b"\0\x01"].concat();
    let next = |want: Want, bytes: &[u8]| {
        let mut connection = connection();
        connection.request_rows(want);
        connection.next(bytes, &mut 0).map(|message| message.is_some())
    };
    for (tag, length, limit) in [(b'D', 1 << 30, "64 MB"), (b'T', 65 << 20, "64 MB"), (b'N', 2 << 20, "1 MB")]
    {
        let error = next(Want::Read, &begun(tag, length)).expect_err("too long");
        assert!(matches!(error, FrameError::TooLong { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(limit) && text.contains("PGDYNO_MAX_ANSWER"), "{text}");
    }
    assert_eq!(next(Want::Skip, &begun(b'D', 1 << 30)), Ok(false), "the load passes over rows of any size");
    assert!(next(Want::Skip, &begun(b'E', 1 << 30)).is_err());
    assert_eq!(next(Want::Read, &begun(b'D', 60 << 20)), Ok(false));
}
