//! What the wire protocols cost per message: encoding what a client says, decoding what a server answers.

use std::sync::Arc;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use protocol::postgres::{Connection, Login, Message, ValueFormat, Want, frontend};
use protocol::redis::{self, Replies, Reply};

/// Rows of the larger results.
const ROWS: usize = 1000;
/// Bytes of a large Redis value.
const LARGE: usize = 32_000;

fn main() {
    divan::main();
}

/// A message of the server.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// The answer to a prepared statement that gives `rows` rows of two columns.
fn answer(rows: usize) -> Vec<u8> {
    let row = message(b'D', b"\0\x02\0\0\0\x05-1234\0\0\0\x14a value of twenty by");
    let end = [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    [message(b'2', b""), row.repeat(rows), end].concat()
}

#[divan::bench]
fn encode_bind_execute_sync(bencher: Bencher<'_, '_>) {
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        let parameters = [Some(black_box(&b"12345"[..]))];
        frontend::bind(&mut out, "", "P_0", parameters, ValueFormat::Text).expect("one parameter");
        frontend::execute(&mut out, "", 0);
        frontend::sync(&mut out);
        black_box(out.len())
    });
}

#[divan::bench]
fn encode_query(bencher: Bencher<'_, '_>) {
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        frontend::query(&mut out, black_box("SELECT abalance FROM pgbench_accounts WHERE aid = 12345;"));
        black_box(out.len())
    });
}

/// Everything up to the end of `input`; how many messages that was.
fn decode(connection: &mut Connection, input: &[u8]) -> usize {
    let (mut at, mut messages) = (0, 0);
    while let Some(message) = connection.next(input, &mut at).expect("good bytes") {
        if let Message::DataRow(row) = &message {
            for value in row.iter() {
                black_box(value);
            }
        }
        messages += 1;
    }
    messages
}

fn decode_with(bencher: Bencher<'_, '_>, want: Want, rows: usize) {
    let input = answer(rows);
    let mut connection = Connection::new(Arc::new(Login::new("u", "d")));
    connection.request_rows(want);
    bencher
        .counter(BytesCount::new(input.len()))
        .counter(ItemsCount::new(rows))
        .bench_local(|| decode(&mut connection, black_box(&input)));
}

#[divan::bench(args = [1, ROWS])]
fn decode_rows_read(bencher: Bencher<'_, '_>, rows: usize) {
    decode_with(bencher, Want::Read, rows);
}

#[divan::bench(args = [1, ROWS])]
fn decode_rows_skipped(bencher: Bencher<'_, '_>, rows: usize) {
    decode_with(bencher, Want::Skip, rows);
}

#[divan::bench(args = [3, LARGE])]
fn redis_encode_set(bencher: Bencher<'_, '_>, size: usize) {
    let value = vec![b'x'; size];
    let mut out = Vec::new();
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        out.clear();
        redis::command(&mut out, &[&b"SET"[..], b"key:000000012345", black_box(&value)]);
        black_box(out.len())
    });
}

fn replies(bencher: Bencher<'_, '_>, want: redis::Want, size: usize) {
    let input = [format!("${size}\r\n").as_bytes(), &vec![b'x'; size], b"\r\n"].concat();
    let mut decoder = Replies::new();
    decoder.want(want);
    bencher.counter(BytesCount::new(input.len())).bench_local(|| {
        let reply: Option<Reply<'_>> = decoder.next(black_box(&input), &mut 0).expect("good bytes");
        black_box(reply.is_some())
    });
}

#[divan::bench(args = [3, LARGE])]
fn redis_reply_read(bencher: Bencher<'_, '_>, size: usize) {
    replies(bencher, redis::Want::Read, size);
}

#[divan::bench(args = [3, LARGE])]
fn redis_reply_skipped(bencher: Bencher<'_, '_>, size: usize) {
    replies(bencher, redis::Want::Skip, size);
}

/// A large value as the network brings it: in pieces of 4 KiB, none of which is kept.
#[divan::bench]
fn redis_reply_skipped_in_pieces(bencher: Bencher<'_, '_>) {
    let input = [format!("${LARGE}\r\n").as_bytes(), &vec![b'x'; LARGE], b"\r\n"].concat();
    let mut decoder = Replies::new();
    decoder.want(redis::Want::Skip);
    bencher.counter(BytesCount::new(input.len())).bench_local(|| {
        for piece in input.chunks(4096) {
            black_box(decoder.next(piece, &mut 0).expect("good bytes"));
        }
    });
}
