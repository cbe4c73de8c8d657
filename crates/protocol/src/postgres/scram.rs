//! The client side of SCRAM-SHA-256 (RFC 5802, RFC 7677), with the expensive key derivation done once per
//! password.
//!
//! postgres-protocol implements this exchange too, but derives the key for each connection: 4,096 rounds of
//! HMAC would stall every other client of a thread.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

type Sha256Hash = [u8; 32];

/// Most rounds accepted from a server: about half a second of work, 250 times PostgreSQL's default.
const MAX_ITERATIONS: u32 = 1_000_000;

const NONCE_BYTES: usize = 18;

/// Why the client ended a SCRAM exchange.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    #[error("malformed SCRAM message from server ({0})")]
    Malformed(&'static str),
    #[error("invalid SCRAM response (nonce mismatch)")]
    Nonce,
    #[error(
        "the server asks for {0} SCRAM iterations, more than {MAX_ITERATIONS}; lower scram_iterations and set the password again"
    )]
    Iterations(u32),
    /// The server ended the exchange with an error.
    #[error("error received from server in SCRAM exchange: {0}")]
    Server(String),
    /// The server does not know the password's verifier.
    #[error("incorrect server signature: the server could not prove that it knows the password")]
    Signature,
    #[error("could not generate nonce")]
    NoRandom,
}

/// Derived keys, shared by all connections: one derivation per password, salt and iteration count. Contains
/// digests only, no password.
#[derive(Default)]
pub struct ScramCache {
    keys: Mutex<HashMap<CacheKey, Keys>>,
}

impl std::fmt::Debug for ScramCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScramCache").finish_non_exhaustive()
    }
}

#[derive(PartialEq, Eq, Hash)]
struct CacheKey {
    password: Sha256Hash,
    salt: Vec<u8>,
    iterations: u32,
}

#[derive(Clone, Copy)]
struct Keys {
    client: Sha256Hash,
    server: Sha256Hash,
}

impl ScramCache {
    /// Threads that need the same keys wait for the first one to derive them.
    fn keys(&self, password: &[u8], salt: &[u8], iterations: u32) -> Keys {
        let key = CacheKey { password: Sha256::digest(password).into(), salt: salt.to_vec(), iterations };
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        *keys.entry(key).or_insert_with(|| Keys::derive(password, salt, iterations))
    }
}

impl Keys {
    fn derive(password: &[u8], salt: &[u8], iterations: u32) -> Keys {
        let salted = salted_password(&prepared(password), salt, iterations);
        Keys { client: hmac(&salted, &[b"Client Key"]), server: hmac(&salted, &[b"Server Key"]) }
    }
}

/// SASLprep where it applies; PostgreSQL's passwords may be any bytes, and invalid ones are used unchanged.
fn prepared(password: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(password).map(stringprep::saslprep) {
        Ok(Ok(prepared)) => prepared.into_owned().into_bytes(),
        _ => password.to_vec(),
    }
}

/// RFC 5802's `Hi`: PBKDF2 with one block of HMAC-SHA-256.
fn salted_password(password: &[u8], salt: &[u8], iterations: u32) -> Sha256Hash {
    // Keyed once: the state after the key is the same in every round.
    let keyed = keyed(password);
    let mac = |parts: &[&[u8]]| -> Sha256Hash {
        let mut mac = keyed.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    };
    let mut last = mac(&[salt, &1_u32.to_be_bytes()]);
    let mut sum = last;
    for _ in 1..iterations {
        last = mac(&[&last]);
        xor(&mut sum, &last);
    }
    sum
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Sha256Hash {
    let mut mac = keyed(key);
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn xor(to: &mut Sha256Hash, with: &Sha256Hash) {
    to.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding<'a> {
    Unsupported,
    /// The server does not offer it; sending this lets the server detect a downgrade.
    NotOffered,
    /// With this hash of the server's certificate.
    EndPoint(&'a [u8]),
}

impl Binding<'_> {
    fn header(self) -> &'static str {
        match self {
            Binding::Unsupported => "n,,",
            Binding::NotOffered => "y,,",
            Binding::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }
}

/// One exchange: [`first`](Exchange::first), then [`respond`](Exchange::respond), then
/// [`verify`](Exchange::verify).
#[derive(Debug)]
pub(super) struct Exchange {
    header: &'static str,
    /// The header and the certificate's hash, in Base64.
    binding: String,
    first_bare: String,
    nonce: String,
    /// What the server must send to prove itself; known after `respond`.
    signature: Option<Sha256Hash>,
}

impl Exchange {
    pub(super) fn new(binding: Binding<'_>) -> Result<Exchange, ScramError> {
        let mut random = [0; NONCE_BYTES];
        getrandom::fill(&mut random).map_err(|_| ScramError::NoRandom)?;
        // PostgreSQL takes the user from the startup message and ignores this one.
        Ok(Exchange::with_nonce("", BASE64.encode(random), binding))
    }

    fn with_nonce(user: &str, nonce: String, binding: Binding<'_>) -> Exchange {
        let mut input = binding.header().as_bytes().to_vec();
        if let Binding::EndPoint(hash) = binding {
            input.extend_from_slice(hash);
        }
        Exchange {
            header: binding.header(),
            binding: BASE64.encode(input),
            first_bare: format!("n={user},r={nonce}"),
            nonce,
            signature: None,
        }
    }

    pub(super) fn first(&self) -> String {
        format!("{}{}", self.header, self.first_bare)
    }

    /// The client's answer to the server's first message.
    pub(super) fn respond(
        &mut self,
        server_first: &[u8],
        password: &[u8],
        cache: &ScramCache,
    ) -> Result<String, ScramError> {
        let server_first =
            std::str::from_utf8(server_first).map_err(|_| ScramError::Malformed("not text"))?;
        let challenge = Challenge::parse(server_first)?;
        if !challenge.nonce.starts_with(&self.nonce) || challenge.nonce.len() == self.nonce.len() {
            return Err(ScramError::Nonce);
        }
        let keys = cache.keys(password, &challenge.salt, challenge.iterations);

        let without_proof = format!("c={},r={}", self.binding, challenge.nonce);
        let signed = [self.first_bare.as_str(), server_first, &without_proof].join(",");
        let stored_key: Sha256Hash = Sha256::digest(keys.client).into();
        let mut proof = keys.client;
        xor(&mut proof, &hmac(&stored_key, &[signed.as_bytes()]));
        self.signature = Some(hmac(&keys.server, &[signed.as_bytes()]));
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)))
    }

    pub(super) fn has_responded(&self) -> bool {
        self.signature.is_some()
    }

    /// Checks the server's last message, and thereby the server.
    pub(super) fn verify(&self, server_final: &[u8]) -> Result<(), ScramError> {
        let server_final =
            std::str::from_utf8(server_final).map_err(|_| ScramError::Malformed("not text"))?;
        if let Some(error) = server_final.strip_prefix("e=") {
            return Err(ScramError::Server(error.to_owned()));
        }
        let signature = server_final
            .strip_prefix("v=")
            .and_then(|rest| rest.split(',').next())
            .and_then(|text| BASE64.decode(text).ok())
            .ok_or(ScramError::Malformed("no server signature"))?;
        match self.signature {
            Some(expected) if expected[..] == signature[..] => Ok(()),
            _ => Err(ScramError::Signature),
        }
    }
}

struct Challenge<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: u32,
}

impl<'a> Challenge<'a> {
    fn parse(text: &'a str) -> Result<Challenge<'a>, ScramError> {
        let mut parts = text.split(',');
        let mut attribute = |prefix: &str, what| {
            parts.next().and_then(|part| part.strip_prefix(prefix)).ok_or(ScramError::Malformed(what))
        };
        let nonce = attribute("r=", "no nonce")?;
        let salt = attribute("s=", "no salt")?;
        let iterations = attribute("i=", "no iteration count")?;
        let salt = BASE64.decode(salt).map_err(|_| ScramError::Malformed("salt is not Base64"))?;
        match iterations.parse() {
            Ok(0) | Err(_) => Err(ScramError::Malformed("invalid iteration count")),
            Ok(iterations) if iterations > MAX_ITERATIONS => Err(ScramError::Iterations(iterations)),
            Ok(iterations) => Ok(Challenge { nonce, salt, iterations }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange printed in RFC 7677, section 3.
    const CLIENT_NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const SERVER_FIRST: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const CLIENT_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
         p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    const SERVER_FINAL: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    fn rfc_exchange() -> Exchange {
        Exchange::with_nonce("user", CLIENT_NONCE.to_owned(), Binding::Unsupported)
    }

    #[test]
    fn the_exchange_of_rfc_7677() {
        let cache = ScramCache::default();
        // The second time the keys come from the cache.
        for _ in 0..2 {
            let mut exchange = rfc_exchange();
            assert_eq!(exchange.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
            assert_eq!(
                exchange.respond(SERVER_FIRST.as_bytes(), b"pencil", &cache).as_deref(),
                Ok(CLIENT_FINAL)
            );
            assert_eq!(exchange.verify(SERVER_FINAL.as_bytes()), Ok(()));
        }
        assert_eq!(cache.keys.lock().expect("not poisoned").len(), 1);
    }

    #[test]
    fn other_passwords_and_salts_have_other_keys() {
        let cache = ScramCache::default();
        let proof = |password: &[u8], salt: &[u8], iterations| cache.keys(password, salt, iterations).client;
        let base = proof(b"pencil", b"salt", 2);
        assert_ne!(base, proof(b"pen", b"salt", 2));
        assert_ne!(base, proof(b"pencil", b"pepper", 2));
        assert_ne!(base, proof(b"pencil", b"salt", 3));
        assert_eq!(base, proof(b"pencil", b"salt", 2));
    }

    #[test]
    fn a_server_that_cannot_prove_itself_is_refused() {
        let mut exchange = rfc_exchange();
        assert_eq!(
            exchange.verify(SERVER_FINAL.as_bytes()),
            Err(ScramError::Signature),
            "before it was asked"
        );
        exchange
            .respond(SERVER_FIRST.as_bytes(), b"pencil", &ScramCache::default())
            .expect("a good challenge");
        for (message, error) in [
            ("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ScramError::Signature),
            ("v=", ScramError::Signature),
            ("v=!", ScramError::Malformed("no server signature")),
            ("", ScramError::Malformed("no server signature")),
            ("e=invalid-proof", ScramError::Server("invalid-proof".to_owned())),
        ] {
            assert_eq!(exchange.verify(message.as_bytes()), Err(error), "{message}");
        }
    }

    #[test]
    fn bad_challenges_are_refused() {
        for (message, error) in [
            ("", ScramError::Malformed("no nonce")),
            ("r=rOprNGfwEbeRWgbNEkqOx", ScramError::Malformed("no salt")),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AA==", ScramError::Malformed("no iteration count")),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=*,i=1", ScramError::Malformed("salt is not Base64")),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AA==,i=0", ScramError::Malformed("invalid iteration count")),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AA==,i=-1", ScramError::Malformed("invalid iteration count")),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=AA==,i=2000000000", ScramError::Iterations(2_000_000_000)),
            ("r=somebodyelse,s=AA==,i=1", ScramError::Nonce),
            ("r=rOprNGfwEbeRWgbNEkqO,s=AA==,i=1", ScramError::Nonce),
        ] {
            let answer = rfc_exchange().respond(message.as_bytes(), b"pencil", &ScramCache::default());
            assert_eq!(answer, Err(error), "{message}");
        }
    }

    #[test]
    fn the_binding_says_what_we_can_and_carries_the_hash() {
        for (binding, header, encoded) in [
            (Binding::Unsupported, "n,,", "biws"),
            (Binding::NotOffered, "y,,", "eSws"),
            (
                Binding::EndPoint(b"hash"),
                "p=tls-server-end-point,,",
                "cD10bHMtc2VydmVyLWVuZC1wb2ludCwsaGFzaA==",
            ),
        ] {
            let exchange = Exchange::with_nonce("", "n".to_owned(), binding);
            assert_eq!(exchange.first(), format!("{header}n=,r=n"));
            assert_eq!(exchange.binding, encoded);
        }
    }

    #[test]
    fn nonces_differ() {
        let nonce = || Exchange::new(Binding::Unsupported).expect("random bytes").nonce;
        assert_ne!(nonce(), nonce());
    }

    #[test]
    fn passwords_are_prepared_when_they_can_be() {
        assert_eq!(prepared("I\u{ad}X".as_bytes()), b"IX", "RFC 4013: a soft hyphen is mapped to nothing");
        assert_eq!(prepared("\u{2168}".as_bytes()), b"IX", "RFC 4013: NFKC");
        assert_eq!(prepared(b"\xff\xfe"), b"\xff\xfe", "not UTF-8");
        assert_eq!(prepared("\u{7}".as_bytes()), b"\x07", "prohibited");
    }
}
