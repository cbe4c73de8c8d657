//! RESP2, the protocol of Redis and compatible servers: commands out, replies in.

mod control;
mod info;
mod reply;

use std::io::Write as _;

pub use control::{ControlError, RedisAnswer, RedisConnection};
pub use info::{Info, Limits};
pub use reply::{Array, BadReply, Replies, Reply, Skipped, Want};

/// Appends a command with its arguments, such as `["SET", key, value]`.
#[inline]
pub fn command<A: AsRef<[u8]>>(out: &mut Vec<u8>, arguments: &[A]) {
    header(out, b'*', arguments.len());
    for argument in arguments {
        let argument = argument.as_ref();
        header(out, b'$', argument.len());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

fn header(out: &mut Vec<u8>, kind: u8, number: usize) {
    out.push(kind);
    // Writing to a vector cannot fail.
    let _ = write!(out, "{number}\r\n");
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn commands_as_the_protocol_page_writes_them() {
        let encoded = |arguments: &[&str]| {
            let mut out = b"before".to_vec();
            command(&mut out, arguments);
            String::from_utf8(out).expect("ASCII")
        };
        assert_eq!(encoded(&["LLEN", "mylist"]), "before*2\r\n$4\r\nLLEN\r\n$6\r\nmylist\r\n");
        assert_eq!(encoded(&["SET", "k", ""]), "before*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
        assert_eq!(encoded(&[]), "before*0\r\n");
    }
}
