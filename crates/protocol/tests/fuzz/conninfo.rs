//! Connection strings and URIs, the environment and the files they lead to.
//!
//! Up to four parts with a NUL byte between two: the string, variables (`NAME=value`, a line each), the service file,
//! the passfile. Whatever is in them, a connection is described or an error told; what is described can be told
//! again without its password and then leads to the same place.

use std::sync::Arc;

use protocol::postgres::{Config, Connection, Env, HostAddress, HostSpec};

pub fn run(data: &[u8]) {
    let mut parts = data.splitn(4, |&byte| byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let dsn = String::from_utf8_lossy(part());
    let mut env = Env::empty().with_user("os").with_home("/home/os");
    for line in String::from_utf8_lossy(part()).lines() {
        if let Some((name, value)) = line.split_once('=') {
            env = env.with_variable(name, value);
        }
    }
    env = env.with_file("/home/os/.pg_service.conf", part(), 0o644);
    env = env.with_file("/home/os/.pgpass", part(), 0o600);
    match Config::parse(Some(&dsn), &env) {
        Ok(config) => check(&config),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check(config: &Config) {
    assert!(!config.hosts.is_empty());
    for host in &config.hosts {
        assert!(!host.to_string().is_empty());
        let mut out = Vec::new();
        Connection::new(Arc::new(config.login(host, Arc::default()))).start(&mut out);
        // Direct TLS sends nothing before it is up; all else begins with a packet that knows its length.
        if let Some(&length) = out.first_chunk() {
            assert_eq!(u32::from_be_bytes(length) as usize, out.len());
        }
    }
    let shown = config.redacted();
    let again = Config::parse(Some(&shown), &Env::empty().with_user("other"))
        .unwrap_or_else(|error| panic!("{shown}: {error}"));
    assert_eq!(
        (&again.user, &again.dbname, places(&again.hosts)),
        (&config.user, &config.dbname, places(&config.hosts)),
        "{shown}"
    );
    assert_eq!(again.redacted(), shown);
    assert!(again.password.is_none());
}

/// Where hosts are, without their passwords.
fn places(hosts: &[HostSpec]) -> Vec<(&HostAddress, u16)> {
    hosts.iter().map(|spec| (&spec.host, spec.port)).collect()
}
