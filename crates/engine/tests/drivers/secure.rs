//! TLS between the driver and the client, against rustls on the other side.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;

use super::plan;
use crate::support::live::{Live, Manners, Stream, read_frame};
use crate::support::{Asker, Loss, frame};
use engine::{Client, NotConnected, RunPlan, StopFlag, Tls, Until, run};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// A certificate for `localhost`, and the server that has it.
fn server(manners: Manners) -> (Live, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let dress = move |mut stream: TcpStream| -> io::Result<Box<dyn Stream>> {
        assert_eq!(read_frame(&mut stream)?, b"S");
        stream.write_all(&frame(b"S"))?;
        let connection = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
        Ok(Box::new(StreamOwned::new(connection, stream)))
    };
    (Live::tcp(manners, dress), certificate)
}

fn askers(
    count: usize,
    server: &Live,
    root: Option<&CertificateDer<'static>>,
    request: &[u8],
) -> Vec<Box<dyn Client>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(root.cloned());
    let config = Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth());
    let tls = Tls { config, name: ServerName::try_from("localhost").unwrap() };
    let mut asker = Asker {
        tls: true,
        checks: true,
        loss: Loss::Abort,
        request: request.to_vec(),
        ..Asker::new(server.address.clone())
    };
    asker.endpoint.tls = Some(tls);
    (0..count).map(|_| asker.clone().boxed()).collect()
}

#[test]
fn transactions_go_through_tls() {
    let (server, certificate) = server(Manners::default());
    let plan = RunPlan { threads: 2, until: Until::PerClient(100), ..plan() };
    let measured =
        run(&plan, askers(4, &server, Some(&certificate), b"a secret"), &mut (), &StopFlag::new()).unwrap();
    assert_eq!((measured.totals().ok, measured.totals().bytes), (400, 3200));
}

#[test]
fn large_and_dribbled_messages_go_through_tls() {
    for (manners, length, count) in
        [(Manners::default(), 3_000_000, 3), (Manners { dribbles: true, ..Manners::default() }, 200, 10)]
    {
        let (server, certificate) = server(manners);
        let request: Vec<u8> = (0..length).map(|index| (index * 7 % 251) as u8).collect();
        let plan = RunPlan { until: Until::PerClient(count), ..plan() };
        let measured =
            run(&plan, askers(2, &server, Some(&certificate), &request), &mut (), &StopFlag::new()).unwrap();
        assert_eq!((measured.totals().ok, measured.totals().bytes), (2 * count, 2 * count * length as u64));
    }
}

#[test]
fn a_certificate_that_is_not_trusted_ends_the_set_up_with_its_reason() {
    let (server, _) = server(Manners::default());
    let error = run(&plan(), askers(1, &server, None, b"a secret"), &mut (), &StopFlag::new())
        .expect_err("it is refused");
    match error.attached() {
        Some(NotConnected::Refused(abort)) => assert!(abort.message.contains("UnknownIssuer"), "{abort}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tls_that_was_not_set_up_is_an_error_and_not_a_panic() {
    let (server, _) = server(Manners::default());
    let asker = Asker { tls: true, loss: Loss::Abort, ..Asker::new(server.address.clone()) };
    let error = run(&plan(), vec![asker.boxed()], &mut (), &StopFlag::new()).expect_err("it is refused");
    match error.attached() {
        Some(NotConnected::Refused(abort)) => assert!(abort.message.contains("not set up"), "{abort}"),
        other => panic!("{other:?}"),
    }
}

/// Bytes after the agreement to use TLS would be taken for protected ones: they must end the connection.
#[test]
fn clear_text_after_the_agreement_is_refused() {
    let server = Live::tcp(Manners::default(), |mut stream| {
        read_frame(&mut stream)?;
        stream.write_all(&[frame(b"S"), frame(b"injected")].concat())?;
        Ok(Box::new(stream))
    });
    let error = run(&plan(), askers(1, &server, None, b"a secret"), &mut (), &StopFlag::new())
        .expect_err("it is refused");
    match error.attached() {
        Some(NotConnected::Refused(abort)) => assert!(abort.message.contains("clear text"), "{abort}"),
        other => panic!("{other:?}"),
    }
}
