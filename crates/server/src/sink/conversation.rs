//! The server's side of PostgreSQL's protocol, as little of it as our clients need.

/// Codes of a request for TLS, and of one to cancel.
const TLS_REQUEST: u32 = 80_877_103;
const CANCEL_REQUEST: u32 = 80_877_102;
/// Longest accepted message.
const LONGEST: usize = 1 << 24;

/// A connection's state in the protocol.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    greeted: bool,
    /// Answers to the messages since the last Sync.
    reply: Vec<u8>,
    /// Whether something was executed since then.
    executed: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SinkRequest {
    /// Login, TLS, or preparing something: answer with this at once, and count nothing.
    Entry(Vec<u8>),
    /// A query, or a Sync after an execution: answer with this after the delay.
    Reply(Vec<u8>),
    /// A request for the figures so far.
    Figures,
    /// Terminate, or an invalid message.
    Leave,
}

impl Conversation {
    /// Takes one message; `None` while it is incomplete. Adds its length to `used`.
    pub(super) fn next(&mut self, input: &[u8], used: &mut usize) -> Option<SinkRequest> {
        if !self.greeted {
            return self.greet(input, used);
        }
        loop {
            let rest = &input[*used..];
            let kind = *rest.first()?;
            let length = read_word(rest.get(1..5)?) as usize;
            if !(4..=LONGEST).contains(&length) {
                return Some(SinkRequest::Leave);
            }
            let body = rest.get(5..1 + length)?;
            *used += 1 + length;
            match kind {
                b'P' => append_message(&mut self.reply, b'1', &[]),
                b'B' => append_message(&mut self.reply, b'2', &[]),
                b'D' => row_description(&mut self.reply),
                b'E' => {
                    row(&mut self.reply, b"1");
                    self.executed = true;
                }
                b'C' => append_message(&mut self.reply, b'3', &[]),
                b'H' => {}
                b'S' => {
                    ready(&mut self.reply);
                    let reply = std::mem::take(&mut self.reply);
                    let executed = std::mem::take(&mut self.executed);
                    return Some(if executed {
                        SinkRequest::Reply(reply)
                    } else {
                        SinkRequest::Entry(reply)
                    });
                }
                b'Q' if body.starts_with(b"figures") => return Some(SinkRequest::Figures),
                b'Q' => return Some(SinkRequest::Reply(one_row(b"1"))),
                _ => return Some(SinkRequest::Leave),
            }
        }
    }

    fn greet(&mut self, input: &[u8], used: &mut usize) -> Option<SinkRequest> {
        let length = read_word(input.get(..4)?) as usize;
        if !(8..=LONGEST).contains(&length) {
            return Some(SinkRequest::Leave);
        }
        let body = input.get(4..length)?;
        *used += length;
        Some(match read_word(&body[..4]) {
            TLS_REQUEST => SinkRequest::Entry(b"N".to_vec()),
            CANCEL_REQUEST => SinkRequest::Leave,
            _ => {
                self.greeted = true;
                let mut welcome = Vec::new();
                append_message(&mut welcome, b'R', &0u32.to_be_bytes());
                append_message(&mut welcome, b'S', b"server_version\x0018.0\0");
                append_message(&mut welcome, b'K', &[0; 8]);
                ready(&mut welcome);
                SinkRequest::Entry(welcome)
            }
        })
    }
}

/// The answer to a query with one row of one text.
pub(super) fn one_row(value: &[u8]) -> Vec<u8> {
    let mut reply = Vec::new();
    row_description(&mut reply);
    row(&mut reply, value);
    ready(&mut reply);
    reply
}

fn row_description(out: &mut Vec<u8>) {
    // One column "n" of no table: text, of any length.
    let mut body = vec![0, 1, b'n', 0];
    body.extend([0; 6]);
    body.extend(25u32.to_be_bytes());
    body.extend((-1i16).to_be_bytes());
    body.extend((-1i32).to_be_bytes());
    body.extend([0; 2]);
    append_message(out, b'T', &body);
}

fn row(out: &mut Vec<u8>, value: &[u8]) {
    let mut body = vec![0, 1];
    body.extend((value.len() as u32).to_be_bytes());
    body.extend(value);
    append_message(out, b'D', &body);
    append_message(out, b'C', b"SELECT 1\0");
}

fn ready(out: &mut Vec<u8>) {
    append_message(out, b'Z', b"I");
}

fn append_message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend((body.len() as u32 + 4).to_be_bytes());
    out.extend(body);
}

fn read_word(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        append_message(&mut bytes, kind, body);
        bytes
    }

    fn startup() -> Vec<u8> {
        let mut bytes = 16u32.to_be_bytes().to_vec();
        bytes.extend(196_608u32.to_be_bytes());
        bytes.extend(b"user\0\0\0\0");
        bytes
    }

    fn greeted() -> Conversation {
        let (mut conversation, mut used) = (Conversation::default(), 0);
        assert!(matches!(conversation.next(&startup(), &mut used), Some(SinkRequest::Entry(_))));
        assert_eq!(used, 16);
        conversation
    }

    #[test]
    fn preparing_is_not_counted_but_executing_is() {
        let mut conversation = greeted();
        let input = [asked(b'P', b"s\0SELECT 1\0\0\0"), asked(b'S', b""), asked(b'B', b""), asked(b'E', b"")];
        let input = [input.concat(), asked(b'S', b""), asked(b'Q', b"SELECT 1\0"), asked(b'S', b"")].concat();
        let mut used = 0;
        let mut next = || conversation.next(&input, &mut used);
        assert!(matches!(next(), Some(SinkRequest::Entry(reply)) if reply[0] == b'1'));
        assert!(matches!(next(), Some(SinkRequest::Reply(reply)) if reply[0] == b'2'));
        assert!(matches!(next(), Some(SinkRequest::Reply(reply)) if reply[0] == b'T'));
        assert!(matches!(next(), Some(SinkRequest::Entry(_))));
        assert_eq!(next(), None);
        assert_eq!(used, input.len());
    }

    #[test]
    fn parts_of_messages_wait_and_nonsense_is_shown_the_door() {
        let mut conversation = greeted();
        let query = asked(b'Q', b"figures\0");
        for end in 0..query.len() {
            assert_eq!(conversation.next(&query[..end], &mut 0), None, "{end} bytes");
        }
        assert_eq!(conversation.next(&query, &mut 0), Some(SinkRequest::Figures));
        for wrong in [&b"Q\0\0\0\x01"[..], b"Q\xff\xff\xff\xff", b"X\0\0\0\x04", b"?\0\0\0\x04"] {
            assert_eq!(conversation.next(wrong, &mut 0), Some(SinkRequest::Leave), "{wrong:?}");
        }
        assert_eq!(Conversation::default().next(b"\0\0\0\x01", &mut 0), Some(SinkRequest::Leave));
    }
}
