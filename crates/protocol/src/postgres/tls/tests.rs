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

fn check(
    verification: Verification,
    root: CertificateDer<'static>,
    certificate: &CertificateDer<'_>,
    host: &str,
    now: u64,
) -> Result<(), Error> {
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    let host = ServerName::try_from(host).expect("a name");
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
    Verifier::new(vec![root], verification, algorithms)
        .verify_server_cert(certificate, &[], &host, &[], now)
        .map(|_| ())
}

#[test]
fn certificates_are_checked_as_the_mode_asks() {
    use Verification::{Authority, AuthorityAndHost, None};
    let root = || certificate!("root");
    let own = || certificate!("self-signed");
    let wrong_name = Err("certificate is for another name".to_owned());
    let unknown = Err(Error::from(CertificateError::UnknownIssuer).to_string());
    for (what, verification, root, certificate, host, expected) in [
        ("nothing is checked", None, root(), own(), "any", Ok(())),
        ("self-signed, its own root", Authority, own(), own(), "any", Ok(())),
        ("self-signed, common name", AuthorityAndHost, own(), own(), "localhost", Ok(())),
        ("self-signed, other name", AuthorityAndHost, own(), own(), "db", wrong_name.clone()),
        ("self-signed, address", AuthorityAndHost, own(), own(), "127.0.0.1", wrong_name.clone()),
        ("self-signed, other root", Authority, root(), own(), "localhost", unknown.clone()),
        ("version 1", Authority, root(), certificate!("version-1"), "any", Ok(())),
        ("version 1, common name", AuthorityAndHost, root(), certificate!("version-1"), "LOCALHOST", Ok(())),
        ("version 1, other root", Authority, own(), certificate!("version-1"), "localhost", unknown.clone()),
        (
            "version 3, common name",
            AuthorityAndHost,
            root(),
            certificate!("common-name"),
            "localhost",
            Ok(()),
        ),
        ("version 3, other root", Authority, own(), certificate!("common-name"), "localhost", unknown),
        ("alternative name", AuthorityAndHost, root(), certificate!("named"), "db.example.org", Ok(())),
        ("wildcard", AuthorityAndHost, root(), certificate!("named"), "a.pool.example.org", Ok(())),
        ("address", AuthorityAndHost, root(), certificate!("named"), "127.0.0.1", Ok(())),
        ("other address", AuthorityAndHost, root(), certificate!("named"), "::1", wrong_name.clone()),
        (
            "common name is hidden by others",
            AuthorityAndHost,
            root(),
            certificate!("named"),
            "localhost",
            wrong_name,
        ),
    ] {
        let checked = check(verification, root, &certificate, host, NOW).map_err(|error| match error {
            Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. }) => {
                "certificate is for another name".to_owned()
            }
            other => other.to_string(),
        });
        assert_eq!(checked, expected, "{what}");
    }
}

#[test]
fn a_wrong_name_is_shown_with_the_right_ones() {
    for (certificate, names) in [
        (certificate!("named"), &["db.example.org", "*.pool.example.org", "127.0.0.1"][..]),
        (certificate!("common-name"), &["localhost"]),
    ] {
        let checked = check(Verification::AuthorityAndHost, certificate!("root"), &certificate, "db", NOW);
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
                let checked = check(Verification::Authority, root.clone(), &certificate, "localhost", now);
                assert!(checked.is_err(), "at {now}");
            }
        }
    }
    let own = || certificate!("self-signed");
    assert_eq!(
        check(Verification::Authority, own(), &own(), "h", LATE),
        Err(CertificateError::Expired.into())
    );
    assert_eq!(
        check(Verification::Authority, own(), &own(), "h", EARLY),
        Err(CertificateError::NotValidYet.into())
    );
}

#[test]
fn a_changed_certificate_is_refused() {
    let mut bytes = certificate!("version-1").to_vec();
    // A byte of the signature, which ends the certificate.
    *bytes.last_mut().expect("not empty") ^= 1;
    let checked =
        check(Verification::Authority, certificate!("root"), &CertificateDer::from(bytes), "localhost", NOW);
    assert_eq!(checked, Err(CertificateError::UnknownIssuer.into()));
    for cut in 0..certificate!("version-1").len() {
        let cut = CertificateDer::from(certificate!("version-1")[..cut].to_vec());
        assert!(check(Verification::Authority, certificate!("root"), &cut, "localhost", NOW).is_err());
    }
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

#[test]
fn hosts_have_names_that_tls_can_use() {
    for (host, expected) in [
        ("db_1.example.org", Some("db_1.example.org")),
        ("127.0.0.1", Some("127.0.0.1")),
        ("::1", Some("::1")),
        ("a..b", None),
        ("/tmp", None),
    ] {
        let config = Config::parse(Some(&format!("host='{host}' user=u")), &Env::empty()).expect("good");
        let name = server_name(&config.hosts[0]).ok().map(|name| name.to_str().into_owned());
        assert_eq!(name.as_deref(), expected, "{host}");
    }
}
