//! Certificates made as PostgreSQL's manual says, and by other means, against each sslmode.

use std::time::Duration;

use rustls::client::danger::ServerCertVerifier as _;
use rustls::{CertificateError, Error};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::verifier::Verifier;
use super::{TlsError, client_config, server_end_point, server_name};
use crate::postgres::conninfo::{ClientCertificate, Config, Env, RootCertificates, SslOptions, Verification};
use crate::postgres::login::{SslMode, SslNegotiation};

macro_rules! certificate {
    ($name:literal) => {
        CertificateDer::from_pem_slice(include_bytes!(concat!("../../../tests/certificates/", $name, ".crt")))
            .expect("a certificate")
    };
}

/// Within the life of all test certificates, 2026-11-21 to 2126-10-28.
const NOW: u64 = 1_800_000_000;

/// One look at a server's certificate.
struct Check {
    verification: Verification,
    root: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    host: &'static str,
    now: u64,
}

impl Check {
    fn outcome(&self) -> Result<(), Error> {
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        let host = ServerName::try_from(self.host).expect("a name");
        let now = UnixTime::since_unix_epoch(Duration::from_secs(self.now));
        Verifier::new(vec![self.root.clone()], self.verification, algorithms)
            .verify_server_cert(&self.certificate, &[], &host, &[], now)
            .map(|_| ())
    }
}

/// What is looked at in most tests: everything.
fn full(root: CertificateDer<'static>, certificate: CertificateDer<'static>, host: &'static str) -> Check {
    Check { verification: Verification::AuthorityAndHost, root, certificate, host, now: NOW }
}

/// The same without the host's name.
fn authority(root: CertificateDer<'static>, certificate: CertificateDer<'static>) -> Check {
    Check { verification: Verification::Authority, ..full(root, certificate, "any") }
}

#[test]
fn certificates_are_checked_as_the_mode_asks() {
    let root = || certificate!("root");
    let own = || certificate!("self-signed");
    let named = |host| full(root(), certificate!("named"), host);
    let unchecked = Check { verification: Verification::None, ..full(root(), own(), "any") };

    let good = [
        ("nothing is checked", unchecked),
        ("self-signed, its own root", authority(own(), own())),
        ("self-signed, common name", full(own(), own(), "localhost")),
        ("version 1", authority(root(), certificate!("version-1"))),
        ("version 1, common name", full(root(), certificate!("version-1"), "LOCALHOST")),
        ("version 3, common name", full(root(), certificate!("common-name"), "localhost")),
        ("alternative name", named("db.example.org")),
        ("wildcard", named("a.pool.example.org")),
        ("address", named("127.0.0.1")),
    ];
    for (what, check) in good {
        assert_eq!(check.outcome(), Ok(()), "{what}");
    }
    let of_strangers = [
        ("self-signed", authority(root(), own())),
        ("version 1", authority(own(), certificate!("version-1"))),
        ("version 3", authority(own(), certificate!("common-name"))),
    ];
    for (what, check) in of_strangers {
        assert_eq!(check.outcome(), Err(CertificateError::UnknownIssuer.into()), "{what}");
    }
    let of_others = [
        ("self-signed", full(own(), own(), "db")),
        ("self-signed, address", full(own(), own(), "127.0.0.1")),
        ("other address", named("::1")),
        ("common name is hidden by others", named("localhost")),
    ];
    for (what, check) in of_others {
        let outcome = check.outcome();
        let wrong_name = matches!(
            outcome,
            Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. }))
        );
        assert!(wrong_name, "{what}: {outcome:?}");
    }
}

#[test]
fn a_wrong_name_is_shown_with_the_right_ones() {
    for (certificate, names) in [
        (certificate!("named"), &["db.example.org", "*.pool.example.org", "127.0.0.1"][..]),
        (certificate!("common-name"), &["localhost"]),
    ] {
        let checked = full(certificate!("root"), certificate, "db").outcome();
        let Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented })) =
            checked
        else {
            panic!("{checked:?}");
        };
        assert_eq!(
            (expected.to_str().as_ref(), presented.as_slice()),
            ("db", &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()[..])
        );
    }
}

#[test]
fn certificates_have_their_time() {
    const EARLY: u64 = 1_700_000_000;
    const LATE: u64 = 5_000_000_000;
    for root in [certificate!("root"), certificate!("self-signed")] {
        for certificate in
            [certificate!("self-signed"), certificate!("version-1"), certificate!("common-name")]
        {
            for now in [EARLY, LATE] {
                let check = Check { now, ..authority(root.clone(), certificate.clone()) };
                assert!(check.outcome().is_err(), "at {now}");
            }
        }
    }
    for (now, error) in [(LATE, CertificateError::Expired), (EARLY, CertificateError::NotValidYet)] {
        let check = Check { now, ..authority(certificate!("self-signed"), certificate!("self-signed")) };
        assert_eq!(check.outcome(), Err(error.into()), "at {now}");
    }
}

#[test]
fn a_changed_certificate_is_refused() {
    let good = certificate!("version-1");
    let refused = |bytes: Vec<u8>| {
        authority(certificate!("root"), CertificateDer::from(bytes)).outcome().expect_err("refused")
    };
    let mut forged = good.to_vec();
    // A byte of the signature, which ends the certificate.
    *forged.last_mut().expect("not empty") ^= 1;
    assert_eq!(refused(forged), CertificateError::UnknownIssuer.into());
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.to_vec();
            bytes[at] ^= 1 << bit;
            refused(bytes);
        }
        refused(good[..at].to_vec());
    }
    refused([&good[..], b"x"].concat());
    refused([&good[..], &good[..]].concat());
}

/// A certificate whose alternative names are not a list of names must not match by its common name.
#[test]
fn alternative_names_that_cannot_be_read_do_not_fall_back_on_the_common_name() {
    const SUBJECT_ALTERNATIVE_NAME: [u8; 3] = [0x55, 0x1d, 0x11];
    let mut bytes = certificate!("named").to_vec();
    let oid = bytes.windows(3).position(|part| part == SUBJECT_ALTERNATIVE_NAME).expect("it has some");
    // Behind the name of the extension: the head of its value (2 bytes), then the head of the list.
    let list = oid + SUBJECT_ALTERNATIVE_NAME.len() + 2;
    assert_eq!(bytes[list], 0x30, "a sequence");
    bytes[list] = 0x04;
    let broken = CertificateDer::from(bytes);
    let outcome = full(broken.clone(), broken, "localhost").outcome();
    assert_eq!(outcome, Err(CertificateError::BadEncoding.into()));
}

#[test]
fn the_end_point_hash_follows_the_signature() {
    let hex = |certificate: &CertificateDer<'_>| {
        server_end_point(certificate)
            .map(|hash| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    };
    // As `openssl x509 -outform der | openssl dgst` gives them.
    for (certificate, expected) in [
        (
            certificate!("self-signed"),
            Some("4504c17ad3149fbdcc208e54d9637b512551396b63fd3107eaf8aaae7e8b67b9"),
        ),
        (certificate!("rsa-sha1"), Some("e3a16012a595636d13a3f4872b3daafcab26b8905b6d4950cf2650d2eb309e45")),
        (
            certificate!("ecdsa-sha384"),
            Some(
                "a52006404456d7fdd94456f87c9e36c234d090ccb341817fcb4d5fca9cff3d91ffb19466d468b737f64a51021aaa93ea",
            ),
        ),
        (
            certificate!("pss-sha512"),
            Some(
                "8501fcef282f98066b01f57318e6718702b81112aa8f9f881b671d07c8ea38ee\
                 96aa657c700cdb3e1c96f75de9d0a760a470bff2fdecf3febe1e5fa8a64dce33",
            ),
        ),
        (certificate!("ed25519"), None),
        (CertificateDer::from(&b"not a certificate"[..]), None),
    ] {
        assert_eq!(hex(&certificate).as_deref(), expected);
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

#[test]
fn a_configuration_for_each_mode() {
    let options = |mode| SslOptions { mode, ..SslOptions::default() };
    assert!(client_config(&options(SslMode::Disable)).expect("good").is_none());
    for mode in [SslMode::Allow, SslMode::Prefer, SslMode::Require] {
        let config = client_config(&options(mode)).expect("good").expect("TLS");
        assert!(config.enable_sni && config.alpn_protocols.is_empty());
    }
    assert_eq!(client_config(&options(SslMode::VerifyCa)).err(), Some(TlsError::RootUnknown));

    let direct = SslOptions {
        root: RootCertificates::File(fixture("root.crt")),
        negotiation: SslNegotiation::Direct,
        hide_name: true,
        ..options(SslMode::VerifyFull)
    };
    let config = client_config(&direct).expect("good").expect("TLS");
    assert_eq!(config.alpn_protocols, [b"postgresql"]);
    assert!(!config.enable_sni);
}

#[test]
fn files_that_do_not_serve_are_named() {
    let with_root = |path: std::path::PathBuf| SslOptions {
        mode: SslMode::VerifyCa,
        root: RootCertificates::File(path),
        ..SslOptions::default()
    };
    assert_eq!(
        client_config(&with_root(fixture("none.crt"))).err(),
        Some(TlsError::NoRoot(fixture("none.crt")))
    );
    // libpq does without it in a mode that can.
    let weaker = |mode| client_config(&SslOptions { mode, ..with_root(fixture("none.crt")) });
    assert!(weaker(SslMode::Prefer).is_ok() && weaker(SslMode::Require).is_ok());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("empty.crt");
    std::fs::write(&path, "no PEM").expect("written");
    assert_eq!(
        client_config(&with_root(path.clone())).err(),
        Some(TlsError::Empty { what: "certificate", path: path.clone() })
    );

    let with_key = |key: &std::path::Path| SslOptions {
        client: Some(ClientCertificate { certificate: fixture("version-1.crt"), key: key.to_owned() }),
        ..SslOptions::default()
    };
    let missing = client_config(&with_key(&folder.path().join("none.key"))).err();
    assert!(matches!(missing, Some(TlsError::File { what: "private key", .. })), "{missing:?}");
    use std::os::unix::fs::PermissionsExt;
    for (mode, open) in [(0o644, true), (0o600, false)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("changed");
        let error = client_config(&with_key(&path)).err();
        assert_eq!(matches!(error, Some(TlsError::KeyPermissions(_))), open, "{mode:o}: {error:?}");
    }
}

/// A host with any other name could not be connected to with TLS, whatever the sslmode.
#[test]
fn a_host_that_is_no_dns_name_is_refused_only_where_its_name_is_verified() {
    let name = |host: &str, mode| {
        let config = Config::parse(Some(&format!("host='{host}' user=u")), &Env::empty()).expect("good");
        server_name(&config.hosts[0], &SslOptions { mode, ..SslOptions::default() })
    };
    let shown = |host, mode| name(host, mode).expect("a name").to_str().into_owned();
    for host in ["db_1.example.org", "127.0.0.1", "::1"] {
        for mode in [SslMode::Require, SslMode::VerifyFull] {
            assert_eq!(shown(host, mode), host);
        }
    }
    for host in ["db-", "a..b", "fe80::1%eth0", "dörfli"] {
        for mode in [SslMode::Allow, SslMode::Prefer, SslMode::Require, SslMode::VerifyCa] {
            assert_eq!(shown(host, mode), "0.0.0.0", "no name is sent");
        }
        assert_eq!(name(host, SslMode::VerifyFull), Err(TlsError::Name(host.to_owned())));
    }
    for mode in [SslMode::Require, SslMode::VerifyFull] {
        assert_eq!(name("/tmp", mode), Err(TlsError::Name("/tmp".to_owned())), "sockets have no TLS");
    }
}
