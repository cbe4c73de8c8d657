//! What a Redis server sends.
//!
//! Whatever the bytes: the same replies, counts and error come out however they are cut, no byte is used that is not
//! there, what is skipped is not kept, and counts like what is read.

use protocol::redis::{BadReply, Replies, Reply, Want};

/// Sizes of the pieces the bytes arrive in.
const CUTS: [usize; 3] = [1, 2, 7];
/// Longest line that may have to be kept: its bound, its kind and its end.
const LINE: usize = 64 * 1024 + 3;
/// How deep arrays inside arrays are looked at.
const DEPTH: usize = 8;

#[derive(Debug, PartialEq)]
struct Seen {
    replies: Vec<String>,
    counts: (u64, u64),
    /// How many bytes were left at the end.
    end: Result<usize, BadReply>,
}

pub fn run(data: &[u8]) {
    let [read, skipped] = [Want::Read, Want::Skip].map(|want| {
        let whole = feed(data, want, data.len());
        for size in CUTS {
            assert_eq!(feed(data, want, size), whole, "{want:?} in pieces of {size}");
        }
        whole
    });
    if read.end == Ok(0) {
        assert_eq!(skipped.end, Ok(0));
        assert_eq!(skipped.counts, read.counts);
        assert_eq!(skipped.replies.len(), read.replies.len());
    }
}

/// Feeds `data` in pieces of `size`, keeping unused bytes.
fn feed(data: &[u8], want: Want, size: usize) -> Seen {
    let mut decoder = Replies::new();
    decoder.want(want);
    let (mut buffer, mut replies) = (Vec::new(), Vec::new());
    for piece in data.chunks(size.max(1)) {
        buffer.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let before = at;
            let next = decoder.next(&buffer, &mut at);
            assert!(before <= at && at <= buffer.len(), "from {before} to {at} of {}", buffer.len());
            match next {
                Ok(Some(reply)) => {
                    assert!(at > before, "a reply out of nothing");
                    replies.push(describe(&reply, DEPTH));
                }
                Ok(None) => break,
                Err(error) => return Seen { replies, counts: decoder.take_counts(), end: Err(error) },
            }
        }
        buffer.drain(..at);
        assert!(want == Want::Read || buffer.len() < LINE, "{} bytes kept", buffer.len());
    }
    Seen { replies, counts: decoder.take_counts(), end: Ok(buffer.len()) }
}

/// All that can be seen of a reply, down to `depth` arrays.
fn describe(reply: &Reply<'_>, depth: usize) -> String {
    match reply {
        Reply::Array(array) if depth > 0 => {
            let elements: Vec<_> = array.iter().map(|element| describe(&element, depth - 1)).collect();
            assert_eq!((elements.len(), elements.is_empty()), (array.len(), array.is_empty()));
            format!("{elements:?}")
        }
        Reply::Array(array) => format!("{} elements", array.len()),
        other => format!("{other:?}"),
    }
}
