//! Handshakes against a scripted server.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use protocol::postgres::{
    AuthMethod, ChannelBinding, Config, Connection, Env, FrameError, Handshake, Login, LoginError, Password,
    PasswordSource, ScramError, ServerError, SslMode, SslNegotiation, TxStatus, frontend,
};
use sha2::{Digest, Sha256};

fn login(password: &str) -> Login {
    let password = Some(Password::new(password, PasswordSource::Argument));
    Login { password, ..Login::new("md5_user", "db") }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

fn auth(code: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&code.to_be_bytes()[..], rest].concat())
}

fn refusal(text: &str) -> Vec<u8> {
    message(b'E', format!("SFATAL\0VFATAL\0C28000\0M{text}\0\0").as_bytes())
}

/// What follows a successful authentication.
fn welcome() -> Vec<u8> {
    [
        auth(0, b""),
        message(b'S', b"server_version\x0018.1\0"),
        message(b'N', b"SWARNING\0C01000\0Mcollation version mismatch\0\0"),
        message(b'K', &[0, 0, 0x12, 0x67, 0x80, 0, 0, 1]),
        message(b'Z', b"I"),
    ]
    .concat()
}

/// A connection whose startup message has been sent.
fn started(login: Login) -> Connection {
    let mut connection = Connection::new(Arc::new(login));
    assert_eq!(connection.start(&mut Vec::new()), Handshake::NeedMore);
    connection
}

/// Gives the connection bytes; what it says and sends.
fn give(connection: &mut Connection, bytes: &[u8]) -> (Result<Handshake, LoginError>, Vec<u8>) {
    let (mut at, mut out) = (0, Vec::new());
    let step = connection.handshake(bytes, &mut at, &mut out);
    (step, out)
}

#[test]
fn trust() {
    let mut out = Vec::new();
    let mut connection = Connection::new(Arc::new(Login {
        parameters: vec![("application_name".to_owned(), "a".to_owned())],
        ..Login::new("u", "d")
    }));
    assert_eq!(connection.start(&mut out), Handshake::NeedMore);
    let mut expected = Vec::new();
    frontend::startup(&mut expected, [("user", "u"), ("database", "d"), ("application_name", "a")]);
    assert_eq!(out, expected);

    assert_eq!(connection.cancel_key(), None);
    assert_eq!(give(&mut connection, &welcome()), (Ok(Handshake::Ready), vec![]));
    assert_eq!(connection.setting("server_version"), Some("18.1"));
    assert_eq!(connection.status(), TxStatus::Idle);
    let key = connection.cancel_key().expect("ready");
    assert_eq!((key.process_id, key.secret), (0x1267, 0x8000_0001));
    let notices = connection.take_notices();
    assert_eq!(
        notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["WARNING:  collation version mismatch"]
    );
    assert!(connection.take_notices().is_empty());
}

#[test]
fn every_split_gives_the_same() {
    let bytes = [auth(3, b""), welcome()].concat();
    for size in 1..=bytes.len() {
        let mut connection = started(login("pw"));
        let (mut buffer, mut out, mut last) = (Vec::new(), Vec::new(), Ok(Handshake::NeedMore));
        for piece in bytes.chunks(size) {
            buffer.extend_from_slice(piece);
            let mut at = 0;
            last = connection.handshake(&buffer, &mut at, &mut out);
            buffer.drain(..at);
        }
        assert_eq!((last, buffer.len()), (Ok(Handshake::Ready), 0), "pieces of {size}");
        assert_eq!(out, b"p\0\0\0\x07pw\0", "pieces of {size}");
    }
}

#[test]
fn what_follows_ready_is_left_for_later() {
    let mut connection = started(login("pw"));
    let bytes = [welcome(), message(b'Z', b"T")].concat();
    let mut at = 0;
    assert_eq!(connection.handshake(&bytes, &mut at, &mut Vec::new()), Ok(Handshake::Ready));
    assert_eq!(at, bytes.len() - 6);
    assert!(connection.next(&bytes, &mut at).expect("good").is_some());
    assert_eq!((connection.status(), at), (TxStatus::InTransaction, bytes.len()));
}

#[test]
fn md5_is_answered() {
    // The hash that postgres-protocol's own test expects.
    let mut connection = started(login("password"));
    let (step, out) = give(&mut connection, &auth(5, &[0x2a, 0x3d, 0x8f, 0xe0]));
    assert_eq!(
        (step, out),
        (Ok(Handshake::NeedMore), message(b'p', b"md562af4dd09bbb41884907a838a3233294\0"))
    );
}

#[test]
fn a_missing_or_empty_password_is_asked_for() {
    for login in [Login::new("u", "d"), login("")] {
        for request in [auth(3, b""), auth(5, b"salt"), auth(10, b"SCRAM-SHA-256\0\0")] {
            let (step, out) = give(&mut started(login.clone()), &request);
            assert_eq!((step, out.len()), (Err(LoginError::PasswordNeeded), 0));
        }
    }
}

/// The mechanism and header of the first SCRAM message in `out`.
fn first_scram(out: &[u8]) -> String {
    let text = String::from_utf8_lossy(&out[5..]).into_owned();
    let (mechanism, rest) = text.split_once('\0').expect("a mechanism");
    format!("{mechanism} {}", rest[4..].split("n=").next().unwrap_or_default())
}

const PLAIN: &[u8] = b"SCRAM-SHA-256\0\0";
const BOTH: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";

fn certificate() -> Vec<u8> {
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject;
    CertificateDer::from_pem_slice(include_bytes!("../certificates/self-signed.crt"))
        .expect("a certificate")
        .to_vec()
}

/// What carries the connection.
#[derive(Debug, Clone, Copy)]
enum Link {
    Plain,
    Tls,
    /// TLS with a certificate that SCRAM cannot be tied to.
    TlsWithoutHash,
}

/// How the client begins SCRAM when the server makes this offer.
fn begun(link: Link, offer: &[u8], wanted: ChannelBinding) -> Result<String, String> {
    let tls = !matches!(link, Link::Plain);
    let ssl_mode = if tls { SslMode::Require } else { SslMode::Disable };
    let mut connection = started(Login { channel_binding: wanted, ssl_mode, ..login("pw") });
    if tls {
        assert_eq!(give(&mut connection, b"S").0, Ok(Handshake::StartTls));
        let certificate = matches!(link, Link::Tls).then(certificate);
        connection.secured(certificate.as_deref(), &mut Vec::new());
    }
    let (step, out) = give(&mut connection, &auth(10, offer));
    step.map(|_| first_scram(&out)).map_err(|error| error.to_string())
}

#[test]
fn channel_binding_is_chosen_by_what_both_can() {
    use ChannelBinding::{Disable, Prefer, Require};
    const BOUND: &str = "SCRAM-SHA-256-PLUS p=tls-server-end-point,,";
    for (wanted, expected) in [(Prefer, BOUND), (Require, BOUND), (Disable, "SCRAM-SHA-256 n,,")] {
        assert_eq!(begun(Link::Tls, BOTH, wanted).as_deref(), Ok(expected), "{wanted:?}");
    }
    for (link, wanted, expected) in [
        (Link::Tls, Prefer, "SCRAM-SHA-256 y,,"),
        (Link::Tls, Disable, "SCRAM-SHA-256 n,,"),
        (Link::Plain, Prefer, "SCRAM-SHA-256 n,,"),
    ] {
        assert_eq!(begun(link, PLAIN, wanted).as_deref(), Ok(expected), "{link:?} {wanted:?}");
    }
    assert_eq!(begun(Link::TlsWithoutHash, BOTH, Prefer).as_deref(), Ok("SCRAM-SHA-256 n,,"));
}

#[test]
fn channel_binding_that_cannot_be_is_refused() {
    use ChannelBinding::{Prefer, Require};
    let refused = |link, offer, wanted| begun(link, offer, wanted).expect_err("refused");
    for (why, error) in [
        ("the server does not offer it", refused(Link::Tls, PLAIN, Require)),
        ("the server's certificate has no usable hash", refused(Link::TlsWithoutHash, BOTH, Require)),
        ("SSL is not in use", refused(Link::Plain, PLAIN, Require)),
        ("the server offers it over a connection without TLS", refused(Link::Plain, BOTH, Prefer)),
    ] {
        assert_eq!(error, format!("channel binding is required, but {why}"));
    }
}

#[test]
fn channel_binding_cannot_be_evaded() {
    for bytes in [auth(0, b""), auth(3, b""), auth(5, b"salt")] {
        let mut connection = started(Login { channel_binding: ChannelBinding::Require, ..login("pw") });
        let (step, out) = give(&mut connection, &bytes);
        assert!(matches!(step, Err(LoginError::ChannelBinding(_))), "{step:?}");
        assert!(out.is_empty(), "nothing about the password is sent");
    }
}

#[test]
fn the_server_may_not_cut_scram_short() {
    let mut connection = started(login("pw"));
    assert_eq!(give(&mut connection, &auth(10, PLAIN)).0, Ok(Handshake::NeedMore));
    let (step, _) = give(&mut connection, &welcome());
    assert_eq!(step, Err(FrameError::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into()));
    // Nor may it answer what was never begun.
    for code in [11, 12] {
        let (step, _) = give(&mut started(login("pw")), &auth(code, b"v=AAAA"));
        assert_eq!(step, Err(FrameError::Unexpected { tag: b'R', during: "authentication" }.into()));
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// Runs a SCRAM exchange with one round of hashing, by the server's side of RFC 5802; the server knows `password`.
/// Whether it accepts the client's proof, and what the client says to the server's.
fn scram(connection: &mut Connection, password: &[u8]) -> (bool, Result<Handshake, LoginError>) {
    let (_, out) = give(connection, &auth(10, PLAIN));
    let first = String::from_utf8(out).expect("ASCII");
    let (_, first_bare) = first.split_once("n,,").expect("a header");
    let (_, nonce) = first_bare.split_once("r=").expect("a nonce");
    let challenge = format!("r={nonce}server,s={},i=1", BASE64.encode("salt"));
    let (step, out) = give(connection, &auth(11, challenge.as_bytes()));
    assert_eq!(step, Ok(Handshake::NeedMore));

    let answer = String::from_utf8(out[5..].to_vec()).expect("ASCII");
    let (without_proof, proof) = answer.split_once(",p=").expect("a proof");
    let signed = format!("{first_bare},{challenge},{without_proof}");
    let salted = hmac(password, &[b"salt", &[0, 0, 0, 1]]);
    let stored_key = Sha256::digest(hmac(&salted, &[b"Client Key"]));
    let mut client_key = BASE64.decode(proof).expect("Base64");
    client_key.iter_mut().zip(hmac(&stored_key, &[signed.as_bytes()])).for_each(|(a, b)| *a ^= b);
    let accepted = Sha256::digest(client_key) == stored_key;

    let signature = hmac(&hmac(&salted, &[b"Server Key"]), &[signed.as_bytes()]);
    let last = format!("v={}", BASE64.encode(signature));
    (accepted, give(connection, &auth(12, last.as_bytes())).0)
}

#[test]
fn both_sides_prove_that_they_know_the_password() {
    let shared = Arc::new(login("pw"));
    for _ in 0..2 {
        // The second connection takes its keys from the login's cache.
        let mut connection = Connection::new(Arc::clone(&shared));
        connection.start(&mut Vec::new());
        assert_eq!(scram(&mut connection, b"pw"), (true, Ok(Handshake::NeedMore)));
        assert_eq!(give(&mut connection, &welcome()).0, Ok(Handshake::Ready));
    }
    let (accepted, step) = scram(&mut started(login("pw")), b"other");
    assert_eq!((accepted, step), (false, Err(LoginError::Scram(ScramError::Signature))));
}

#[test]
fn a_server_may_ask_for_the_key_derivation_only_once() {
    let unexpected = || Err(FrameError::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into());
    let challenged = || {
        let mut connection = started(login("pw"));
        let (_, out) = give(&mut connection, &auth(10, PLAIN));
        let text = String::from_utf8(out).expect("ASCII");
        let (_, nonce) = text.split_once("r=").expect("a nonce");
        let challenge = auth(11, format!("r={nonce}server,s=c2FsdA==,i=1").as_bytes());
        assert_eq!(give(&mut connection, &challenge).0, Ok(Handshake::NeedMore));
        (connection, challenge)
    };
    let (mut connection, challenge) = challenged();
    assert_eq!(give(&mut connection, &challenge).0, unexpected(), "a second challenge");
    let (mut connection, _) = challenged();
    assert_eq!(
        give(&mut connection, &auth(10, PLAIN)).0,
        unexpected(),
        "another exchange in the midst of one"
    );
    let mut connection = started(login("pw"));
    assert_eq!(scram(&mut connection, b"pw"), (true, Ok(Handshake::NeedMore)));
    assert_eq!(give(&mut connection, &auth(10, PLAIN)).0, unexpected(), "another exchange after one");
}

#[test]
fn require_auth_is_kept() {
    let policy = |text: &str| {
        let env = Env::empty().with_user("u");
        Config::parse(Some(&format!("require_auth={text}")), &env).expect("good").require_auth
    };
    for (allowed, request, expected) in [
        ("scram-sha-256", auth(3, b""), Err(AuthMethod::Password)),
        ("scram-sha-256", auth(5, b"salt"), Err(AuthMethod::Md5)),
        ("scram-sha-256", auth(0, b""), Err(AuthMethod::None)),
        ("!none", auth(0, b""), Err(AuthMethod::None)),
        ("none", auth(10, PLAIN), Err(AuthMethod::ScramSha256)),
        ("none", auth(0, b""), Ok(Handshake::NeedMore)),
        ("md5", auth(5, b"salt"), Ok(Handshake::NeedMore)),
        ("!password", auth(10, PLAIN), Ok(Handshake::NeedMore)),
    ] {
        let (step, _) = give(&mut started(Login { require_auth: policy(allowed), ..login("pw") }), &request);
        let expected = expected.map_err(|method| LoginError::MethodNotAllowed { requested: method.name() });
        assert_eq!(step, expected, "{allowed}");
    }
}

#[test]
fn other_methods_are_refused_by_name() {
    for (code, name) in
        [(2, "Kerberos 5"), (6, "SCM credential"), (7, "GSSAPI"), (9, "SSPI"), (99, "an unknown")]
    {
        let (step, _) = give(&mut started(login("pw")), &auth(code, b""));
        assert_eq!(step, Err(LoginError::Unsupported(name)));
    }
    let (step, _) = give(&mut started(login("pw")), &auth(10, b"OAUTHBEARER\0\0"));
    assert_eq!(step, Err(LoginError::Unsupported("an unknown SASL")));
}

#[test]
fn tls_is_asked_for_and_its_refusal_handled() {
    for (mode, asks, on_no) in [
        (SslMode::Disable, false, None),
        (SslMode::Allow, false, None),
        (SslMode::Prefer, true, Some(Ok(Handshake::NeedMore))),
        (SslMode::Require, true, Some(Err(LoginError::TlsRefused))),
        (SslMode::VerifyFull, true, Some(Err(LoginError::TlsRefused))),
    ] {
        let mut connection = Connection::new(Arc::new(Login { ssl_mode: mode, ..login("pw") }));
        let (mut out, mut request) = (Vec::new(), Vec::new());
        connection.start(&mut out);
        frontend::ssl_request(&mut request);
        assert_eq!(out == request, asks, "{mode:?}");
        if let Some(expected) = on_no {
            let (step, sent) = give(&mut connection, b"N");
            assert_eq!(sent.is_empty(), expected.is_err(), "{mode:?}: a startup message or nothing");
            assert_eq!(step, expected, "{mode:?}");
            assert!(!connection.is_secure());
        }
    }
}

#[test]
fn the_answer_to_the_tls_request_must_stand_alone() {
    let asked = || started(Login { ssl_mode: SslMode::Prefer, ..login("pw") });
    assert_eq!(give(&mut asked(), b"Sx").0, Err(FrameError::ClearBytesAfterSsl.into()));
    assert_eq!(give(&mut asked(), b"H").0, Err(FrameError::SslAnswer { answer: b'H' }.into()));
    assert_eq!(give(&mut asked(), b"").0, Ok(Handshake::NeedMore));
}

#[test]
fn direct_negotiation_starts_tls_at_once() {
    let login = Login { ssl_mode: SslMode::Require, ssl_negotiation: SslNegotiation::Direct, ..login("pw") };
    let mut connection = Connection::new(Arc::new(login));
    let mut out = Vec::new();
    assert_eq!(connection.start(&mut out), Handshake::StartTls);
    assert!(out.is_empty());
    assert_eq!(connection.secured(None, &mut out), Handshake::NeedMore);
    assert!(connection.is_secure() && !out.is_empty());
}

#[test]
fn prefer_tries_again_without_tls_and_allow_with_it() {
    let server_error = |text: &str| {
        Box::new(ServerError {
            severity: "FATAL".to_owned(),
            severity_code: Some("FATAL".to_owned()),
            code: "28000".to_owned(),
            message: text.to_owned(),
            ..ServerError::default()
        })
    };
    let mut out = Vec::new();

    let mut connection = started(Login { ssl_mode: SslMode::Prefer, ..login("pw") });
    assert_eq!(give(&mut connection, b"S").0, Ok(Handshake::StartTls));
    connection.secured(None, &mut out);
    assert_eq!(give(&mut connection, &refusal("not with TLS")).0, Ok(Handshake::Reconnect));
    out.clear();
    assert_eq!(connection.start(&mut out), Handshake::NeedMore);
    assert_eq!(out[4..8], [0, 3, 0, 0], "a startup message, no request for TLS");
    assert!(!connection.is_secure());
    let both = LoginError::Server {
        error: server_error("nor without"),
        earlier: Some(server_error("not with TLS")),
    };
    assert_eq!(both.to_string(), "FATAL:  not with TLS\nFATAL:  nor without");
    assert_eq!(give(&mut connection, &refusal("nor without")).0, Err(both));

    let mut connection = started(Login { ssl_mode: SslMode::Allow, ..login("pw") });
    assert_eq!(give(&mut connection, &refusal("not in clear")).0, Ok(Handshake::Reconnect));
    connection.start(&mut Vec::new());
    assert_eq!(give(&mut connection, b"S").0, Ok(Handshake::StartTls));
    connection.secured(None, &mut Vec::new());
    assert_eq!(give(&mut connection, &welcome()).0, Ok(Handshake::Ready));
    // The next connection begins as the first did.
    let mut out = Vec::new();
    connection.start(&mut out);
    assert_eq!(out[4..8], [0, 3, 0, 0]);
    assert_eq!((connection.cancel_key(), connection.setting("server_version")), (None, None));
}

#[test]
fn only_prefer_forgives_a_failed_tls_handshake() {
    for (mode, again) in [(SslMode::Prefer, true), (SslMode::Require, false), (SslMode::VerifyCa, false)] {
        let mut connection = started(Login { ssl_mode: mode, ..login("pw") });
        assert_eq!(give(&mut connection, b"S").0, Ok(Handshake::StartTls));
        assert_eq!(connection.tls_failed("no"), again, "{mode:?}");
        if again {
            let mut out = Vec::new();
            connection.start(&mut out);
            assert_eq!(out[4..8], [0, 3, 0, 0]);
        }
    }
}

#[test]
fn a_refusal_after_authentication_is_final() {
    let mut connection = started(Login { ssl_mode: SslMode::Allow, ..login("pw") });
    assert_eq!(give(&mut connection, &auth(0, b"")).0, Ok(Handshake::NeedMore));
    let (step, _) = give(&mut connection, &refusal("database \"db\" does not exist"));
    assert_eq!(step.expect_err("refused").to_string(), "FATAL:  database \"db\" does not exist");
}

#[test]
fn strangers_are_recognised() {
    for bytes in [&b"SSH-2.0-OpenSSH"[..], b"HTTP/1.1 400", b"\x15\x03\x01", b"D\0\0\0\x06\0\0"] {
        assert!(matches!(give(&mut started(login("pw")), bytes).0, Err(LoginError::Broken(_))), "{bytes:?}");
    }
}

#[test]
fn a_stranger_cannot_make_us_wait_for_a_gigabyte() {
    let error = |tag, length: u32| [&[tag][..], &length.to_be_bytes()].concat();
    for (tag, length) in [(b'E', 0x3000_0000), (b'N', 30_005), (b'D', 30_005)] {
        let (step, _) = give(&mut started(login("pw")), &error(tag, length));
        assert_eq!(step, Err(FrameError::Length { tag, length }.into()));
    }
    // Once we are let in, the server may have more to say.
    let mut connection = started(login("pw"));
    let notice = format!("SNOTICE\0C00000\0M{}\0\0", "x".repeat(40_000));
    let bytes = [auth(0, b""), message(b'N', notice.as_bytes()), message(b'Z', b"I")].concat();
    assert_eq!(give(&mut connection, &bytes).0, Ok(Handshake::Ready));
    assert_eq!(connection.take_notices().len(), 1);
}

#[test]
fn a_server_that_never_stops_talking_is_not_remembered_for_ever() {
    let mut connection = started(login("pw"));
    give(&mut connection, &auth(0, b"")).0.expect("let in");
    for number in 0..2000 {
        let setting = message(b'S', format!("ext.{number}\0on\0").as_bytes());
        let notice = message(b'N', b"SNOTICE\0C00000\0Mhello\0\0");
        assert_eq!(give(&mut connection, &[setting, notice].concat()).0, Ok(Handshake::NeedMore));
    }
    assert_eq!(connection.take_notices().len(), 100);
    assert_eq!((connection.setting("ext.255"), connection.setting("ext.256")), (Some("on"), None));
}

proptest! {
    #[test]
    fn no_bytes_panic(
        mode in prop::sample::select(vec![SslMode::Disable, SslMode::Allow, SslMode::Prefer, SslMode::Require]),
        pieces in prop::collection::vec(
            (prop::sample::select(b"RRRESNKZvX".to_vec()), 0_u8..13, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
    ) {
        let mut connection = started(Login { ssl_mode: mode, ..login("pw") });
        let _ = give(&mut connection, b"N");
        for (tag, code, body) in pieces {
            let body = if tag == b'R' { [&[0, 0, 0, code][..], &body].concat() } else { body };
            if give(&mut connection, &message(tag, &body)).0.is_err() {
                break;
            }
        }
    }
}

/// Such a server was listened to for ever.
#[test]
fn a_server_that_never_ends_the_connection_start_is_given_up() {
    let setting = message(b'S', &[b"TimeZone\0".as_slice(), &[b'x'; 20_000], b"\0"].concat());
    let notice = message(b'N', &[b"SNOTICE\0C00000\0M".as_slice(), &[b'n'; 500_000], b"\0\0"].concat());
    for piece in [setting, notice] {
        let mut connection = started(login("pw"));
        give(&mut connection, &auth(0, b"")).0.expect("let in");
        let error = (0..10_000).find_map(|_| give(&mut connection, &piece).0.err()).expect("given up");
        assert!(matches!(error, LoginError::Broken(FrameError::LongStart { .. })), "{error}");
        let kept: usize = connection.take_notices().iter().map(|notice| notice.message.len()).sum();
        assert!(kept <= 1 << 20, "{kept}");
    }
}
