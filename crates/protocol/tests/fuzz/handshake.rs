//! What a PostgreSQL server sends until a connection is ready.
//!
//! The first byte chooses the login; the rest is the server: messages of a tag, a length in one byte, and a
//! body. At the start of its first SCRAM message, `r=@` means the client's nonce, which the script cannot
//! know. The handshake gives the same answers however its bytes are cut.

use std::sync::Arc;

use protocol::postgres::{
    ChannelBinding, Connection, FrameError, Handshake, Login, LoginError, Password, PasswordSource, SslMode,
    SslNegotiation,
};

/// Tag of a message that is sent without tag and length: its body is all of it.
const BARE: u8 = 0xff;
/// Body of an authentication request: the server's first SCRAM message.
const SCRAM_FIRST: &[u8] = b"\0\0\0\x0b";
/// Our request for TLS.
const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
/// Most notices that are kept.
const MOST_NOTICES: usize = 100;
/// Rounds a SCRAM server may ask for here; more only take longer, until they are refused.
const FEW_ROUNDS: u32 = 64;
const TOO_MANY_ROUNDS: u32 = 1_000_000;

pub fn run(data: &[u8]) {
    let Some((&choice, script)) = data.split_first() else { return };
    let whole = converse(choice, script, usize::MAX);
    for size in [1, 3] {
        assert_eq!(converse(choice, script, size), whole, "in pieces of {size}");
    }
}

/// How we log in: with a password or without, by any sslmode.
fn login(choice: u8) -> Login {
    use SslMode::{Allow, Disable, Prefer, Require, VerifyCa, VerifyFull};
    let modes = [Disable, Allow, Prefer, Require, VerifyCa, VerifyFull, Disable, Disable];
    let password = (choice & 8 == 0).then(|| Password::new("pencil", PasswordSource::Prompt));
    let negotiation = if choice & 16 == 0 { SslNegotiation::Postgres } else { SslNegotiation::Direct };
    let channel_binding = match choice >> 5 & 3 {
        0 | 1 => ChannelBinding::Prefer,
        2 => ChannelBinding::Disable,
        _ => ChannelBinding::Require,
    };
    Login {
        password,
        ssl_mode: modes[usize::from(choice & 7)],
        ssl_negotiation: negotiation,
        channel_binding,
        parameters: vec![("application_name".to_owned(), "fuzz".to_owned())],
        ..Login::new("user", "db")
    }
}

/// One side of a conversation, and what it came to.
struct Talk {
    connection: Connection,
    /// What arrived and has not been used.
    kept: Vec<u8>,
    sent: Vec<u8>,
    /// What the handshake answered, with the number of bytes sent by then.
    answers: Vec<(Result<Handshake, LoginError>, usize)>,
}

/// All answers of a handshake with the server that `script` describes, whose messages arrive in pieces of `size`.
fn converse(choice: u8, script: &[u8], size: usize) -> Vec<(Result<Handshake, LoginError>, usize)> {
    let connection = Connection::new(Arc::new(login(choice)));
    let mut talk = Talk { connection, kept: Vec::new(), sent: Vec::new(), answers: Vec::new() };
    let begun = talk.connection.start(&mut talk.sent);
    talk.answer(Ok(begun));
    talk.follow(begun);
    let mut script = script;
    while let Some(message) = next_message(&mut script, &talk.sent) {
        // The answer to our request for TLS comes alone: more behind it is an error, or another connection's.
        let alone = usize::from(talk.sent.ends_with(SSL_REQUEST)).min(message.len());
        let (answer, rest) = message.split_at(alone);
        for piece in answer.chunks(1).chain(rest.chunks(size)) {
            if !talk.hear(piece) {
                return talk.answers;
            }
        }
    }
    assert!(talk.connection.take_notices().len() <= MOST_NOTICES);
    talk.answers
}

impl Talk {
    /// Takes what arrives; false when the conversation is over.
    fn hear(&mut self, piece: &[u8]) -> bool {
        self.kept.extend_from_slice(piece);
        loop {
            let mut at = 0;
            let answer = self.connection.handshake(&self.kept, &mut at, &mut self.sent);
            assert!(at <= self.kept.len(), "used {at} of {}", self.kept.len());
            self.kept.drain(..at);
            match answer {
                Ok(Handshake::NeedMore) => return true,
                Ok(step @ (Handshake::StartTls | Handshake::Reconnect)) => {
                    self.answer(Ok(step));
                    self.follow(step);
                }
                over => {
                    self.answer(over);
                    return false;
                }
            }
        }
    }

    /// Does what the handshake asks for: TLS comes up without a certificate, and a link opens again.
    fn follow(&mut self, step: Handshake) {
        match step {
            Handshake::StartTls => drop(self.connection.secured(None, &mut self.sent)),
            Handshake::Reconnect => {
                self.kept.clear();
                let begun = self.connection.start(&mut self.sent);
                self.answer(Ok(begun));
                self.follow(begun);
            }
            Handshake::NeedMore | Handshake::Ready => {}
        }
    }

    fn answer(&mut self, answer: Result<Handshake, LoginError>) {
        let told = answer.map_err(|error| match error {
            // The first byte is enough to detect a stranger, before the length has arrived.
            LoginError::Broken(FrameError::UnknownMessage { tag, .. }) => {
                FrameError::UnknownMessage { tag, length: 0 }.into()
            }
            error => error,
        });
        if let Err(error) = &told {
            assert!(!error.to_string().is_empty());
        }
        self.answers.push((told, self.sent.len()));
    }
}

/// The next message of the script; `None` at its end.
fn next_message(script: &mut &[u8], sent: &[u8]) -> Option<Vec<u8>> {
    let (&[tag, length], rest) = script.split_first_chunk()?;
    let (body, rest) = rest.split_at(usize::from(length).min(rest.len()));
    *script = rest;
    if tag == BARE {
        return Some(body.to_vec());
    }
    let body = match body.strip_prefix(SCRAM_FIRST) {
        Some(challenge) if tag == b'R' && asks_for_long_work(challenge) => return None,
        Some([b'r', b'=', b'@', challenge @ ..]) if tag == b'R' => {
            [SCRAM_FIRST, b"r=", nonce(sent), challenge].concat()
        }
        _ => body.to_vec(),
    };
    let length = (body.len() as u32 + 4).to_be_bytes();
    Some([&[tag][..], &length, &body].concat())
}

/// The nonce we sent last, if any: what follows the user's empty name.
fn nonce(sent: &[u8]) -> &[u8] {
    let marker = b",n=,r=";
    let found = sent.windows(marker.len()).rposition(|window| window == marker);
    let from = found.map_or(sent.len(), |at| at + marker.len());
    &sent[from..sent.len().min(from + 24)]
}

fn asks_for_long_work(challenge: &[u8]) -> bool {
    String::from_utf8_lossy(challenge)
        .split(",i=")
        .filter_map(|rest| rest.parse::<u32>().ok())
        .any(|rounds| rounds > FEW_ROUNDS && rounds <= TOO_MANY_ROUNDS)
}
