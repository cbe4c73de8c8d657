//! Turns the options given into a connection: service file, environment and defaults are filled in, values are read.

use std::path::PathBuf;
use std::time::Duration;

use super::config::Config;
use super::env::Env;
use super::error::ConnInfoError;
use super::options::{
    ClientCertificate, RootCertificates, SslOptions, TargetSession, TcpOptions, TlsVersion,
};
use super::parameters::{Origin, Parameters};
use super::password::{Password, PasswordSource};
use super::{hosts, keywords, passfile, service};
use crate::postgres::login::{AuthMethod, AuthPolicy, ChannelBinding, SslMode, SslNegotiation};

type Result<T> = std::result::Result<T, ConnInfoError>;

pub(super) fn resolve(mut parameters: Parameters, env: &Env) -> Result<Config> {
    fill_in(&mut parameters, env)?;
    let p = &parameters;
    let user = p.get("user").or_else(|| env.user()).ok_or(ConnInfoError::NoUser)?.to_owned();
    let mut config = Config {
        hosts: hosts::hosts(p, env)?,
        dbname: p.get("dbname").unwrap_or(&user).to_owned(),
        user,
        password: password(p),
        options: text(p, "options"),
        application_name: text(p, "application_name").or_else(|| text(p, "fallback_application_name")),
        client_encoding: client_encoding(p, env),
        settings: settings(env),
        ssl: ssl(p, env)?,
        channel_binding: choice(p, "channel_binding", CHANNEL_BINDINGS)?,
        require_auth: require_auth(p)?,
        connect_timeout: integer(p, "connect_timeout")?.and_then(seconds),
        target_session_attrs: choice(p, "target_session_attrs", TARGET_SESSIONS)?,
        load_balance: choice(p, "load_balance_hosts", LOAD_BALANCING)?,
        tcp: tcp(p)?,
        warnings: Vec::new(),
    };
    if config.password.is_none()
        && let Some(path) = p.get("passfile").map(PathBuf::from).or_else(|| env.in_home(".pgpass"))
    {
        passfile::look_up(&mut config, &path, env);
    }
    Ok(config)
}

/// Adds what the service file and the environment say about options not given.
fn fill_in(parameters: &mut Parameters, env: &Env) -> Result<()> {
    let name =
        parameters.get("service").or_else(|| env.variable("PGSERVICE")).filter(|name| !name.is_empty());
    if let Some(name) = name.map(str::to_owned) {
        service::fill(parameters, &name, env)?;
    }
    for keyword in keywords::KEYWORDS {
        if let Some(value) = keyword.variable.and_then(|variable| env.variable(variable)) {
            parameters.fill(keyword.name, value, Origin::Environment)?;
        }
    }
    // The older name of PGSSLMODE=require.
    if env.variable("PGREQUIRESSL").is_some_and(|value| value.starts_with('1')) {
        parameters.fill("sslmode", "require", Origin::Environment)?;
    }
    if parameters.get("sslrootcert") == Some("system") {
        parameters.fill("sslmode", "verify-full", Origin::Environment)?;
    }
    Ok(())
}

fn text(parameters: &Parameters, keyword: &str) -> Option<String> {
    parameters.get(keyword).map(str::to_owned)
}

fn password(parameters: &Parameters) -> Option<Password> {
    let value = parameters.value("password").filter(|value| !value.text.is_empty())?;
    let source = match &value.origin {
        Origin::Argument => PasswordSource::Argument,
        Origin::Service(path) => PasswordSource::Service(path.clone()),
        Origin::Environment => PasswordSource::Environment,
    };
    Some(Password::new(value.text.as_str(), source))
}

/// `auto` means the encoding of the locale, of which we tell UTF-8 from all others.
fn client_encoding(parameters: &Parameters, env: &Env) -> Option<String> {
    let encoding = parameters.get("client_encoding")?;
    if encoding != "auto" {
        return Some(encoding.to_owned());
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| env.variable(name))
        .find(|value| !value.is_empty());
    let utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    Some(if utf8 { "UTF8" } else { "SQL_ASCII" }.to_owned())
}

/// Settings libpq takes from variables of their own.
fn settings(env: &Env) -> Vec<(String, String)> {
    keywords::SETTING_VARIABLES
        .iter()
        .filter_map(|&(variable, setting)| Some((setting.to_owned(), env.variable(variable)?.to_owned())))
        .filter(|(_, value)| !value.eq_ignore_ascii_case("default"))
        .collect()
}

/// The values of an option, and what they mean.
type Choices<T> = (&'static str, &'static [(&'static str, T)]);

const SSL_MODES: Choices<SslMode> = (
    "disable, allow, prefer, require, verify-ca or verify-full",
    &[
        ("disable", SslMode::Disable),
        ("allow", SslMode::Allow),
        ("prefer", SslMode::Prefer),
        ("require", SslMode::Require),
        ("verify-ca", SslMode::VerifyCa),
        ("verify-full", SslMode::VerifyFull),
    ],
);
const SSL_NEGOTIATIONS: Choices<SslNegotiation> =
    ("postgres or direct", &[("postgres", SslNegotiation::Postgres), ("direct", SslNegotiation::Direct)]);
const CHANNEL_BINDINGS: Choices<ChannelBinding> = (
    "disable, prefer or require",
    &[
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ],
);
const TARGET_SESSIONS: Choices<TargetSession> = (
    "any, read-write, read-only, primary, standby or prefer-standby",
    &[
        ("any", TargetSession::Any),
        ("read-write", TargetSession::ReadWrite),
        ("read-only", TargetSession::ReadOnly),
        ("primary", TargetSession::Primary),
        ("standby", TargetSession::Standby),
        ("prefer-standby", TargetSession::PreferStandby),
    ],
);
const LOAD_BALANCING: Choices<bool> = ("disable or random", &[("disable", false), ("random", true)]);
const HIDE_NAME: Choices<bool> = ("0 or 1", &[("1", false), ("0", true)]);
/// TLS before 1.2 is not built in, so a lower bound below it bounds nothing.
const MIN_VERSIONS: Choices<Option<TlsVersion>> = (
    "TLSv1.2 or TLSv1.3",
    &[
        ("TLSv1", None),
        ("TLSv1.1", None),
        ("TLSv1.2", Some(TlsVersion::V1_2)),
        ("TLSv1.3", Some(TlsVersion::V1_3)),
    ],
);
const MAX_VERSIONS: Choices<Option<TlsVersion>> = (
    "TLSv1.2 or TLSv1.3; older versions are not built in",
    &[("TLSv1.2", Some(TlsVersion::V1_2)), ("TLSv1.3", Some(TlsVersion::V1_3))],
);

/// Whether our certificate is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CertificateMode {
    #[default]
    Allow,
    Disable,
}

const CERTIFICATE_MODES: Choices<CertificateMode> =
    ("disable or allow", &[("allow", CertificateMode::Allow), ("disable", CertificateMode::Disable)]);

/// Reads an option with a fixed set of values; not given, it has its type's default.
fn choice<T: Copy + Default>(
    parameters: &Parameters,
    keyword: &'static str,
    (expected, choices): Choices<T>,
) -> Result<T> {
    let Some(value) = parameters.get(keyword) else {
        return Ok(T::default());
    };
    let found = choices.iter().find(|(name, _)| *name == value);
    found.map(|&(_, choice)| choice).ok_or(ConnInfoError::Value { keyword, expected })
}

fn integer(parameters: &Parameters, keyword: &'static str) -> Result<Option<i32>> {
    let Some(value) = parameters.get(keyword) else {
        return Ok(None);
    };
    let bad = |_| ConnInfoError::Value { keyword, expected: "an integer" };
    value.trim().parse().map(Some).map_err(bad)
}

/// Zero and less mean "not set".
fn positive(value: i32) -> Option<u32> {
    u32::try_from(value).ok().filter(|&value| value > 0)
}

fn seconds(value: i32) -> Option<Duration> {
    positive(value).map(|value| Duration::from_secs(value.into()))
}

fn tcp(parameters: &Parameters) -> Result<TcpOptions> {
    Ok(TcpOptions {
        keepalives: integer(parameters, "keepalives")? != Some(0),
        idle: integer(parameters, "keepalives_idle")?.and_then(seconds),
        interval: integer(parameters, "keepalives_interval")?.and_then(seconds),
        count: integer(parameters, "keepalives_count")?.and_then(positive),
        user_timeout: integer(parameters, "tcp_user_timeout")?
            .and_then(positive)
            .map(|value| Duration::from_millis(value.into())),
    })
}

fn ssl(parameters: &Parameters, env: &Env) -> Result<SslOptions> {
    let options = SslOptions {
        mode: choice(parameters, "sslmode", SSL_MODES)?,
        negotiation: choice(parameters, "sslnegotiation", SSL_NEGOTIATIONS)?,
        root: RootCertificates::None,
        client: client_certificate(parameters, env)?,
        hide_name: choice(parameters, "sslsni", HIDE_NAME)?,
        min_version: choice(parameters, "ssl_min_protocol_version", MIN_VERSIONS)?,
        max_version: choice(parameters, "ssl_max_protocol_version", MAX_VERSIONS)?,
    };
    let root = root_certificates(parameters, options.mode, env);
    let options = SslOptions { root, ..options };
    check_ssl(&options)?;
    Ok(options)
}

/// The default file counts when it is there, or when the mode cannot do without.
fn root_certificates(parameters: &Parameters, mode: SslMode, env: &Env) -> RootCertificates {
    match parameters.get("sslrootcert") {
        Some("system") => RootCertificates::System,
        Some(path) => RootCertificates::File(path.into()),
        None => env
            .in_home(".postgresql/root.crt")
            .filter(|path| mode >= SslMode::VerifyCa || env.exists(path))
            .map_or(RootCertificates::None, RootCertificates::File),
    }
}

fn check_ssl(options: &SslOptions) -> Result<()> {
    let conflict = |text: &str| Err(ConnInfoError::Conflict(text.to_owned()));
    if options.root == RootCertificates::System && options.mode != SslMode::VerifyFull {
        return conflict("weak sslmode may not be used with sslrootcert=system (use \"verify-full\")");
    }
    if options.negotiation == SslNegotiation::Direct && !options.mode.demands_tls() {
        return conflict(
            "weak sslmode may not be used with sslnegotiation=direct (use \"require\", \"verify-ca\", or \"verify-full\")",
        );
    }
    match (options.min_version, options.max_version) {
        (Some(min), Some(max)) if min > max => conflict(
            "invalid SSL protocol version range: ssl_min_protocol_version is above ssl_max_protocol_version",
        ),
        _ => Ok(()),
    }
}

/// The certificate named, or the default one when it is there.
fn client_certificate(parameters: &Parameters, env: &Env) -> Result<Option<ClientCertificate>> {
    if choice(parameters, "sslcertmode", CERTIFICATE_MODES)? == CertificateMode::Disable {
        return Ok(None);
    }
    let named = parameters.get("sslcert").map(PathBuf::from);
    let certificate =
        named.or_else(|| env.in_home(".postgresql/postgresql.crt").filter(|path| env.exists(path)));
    let key =
        parameters.get("sslkey").map(PathBuf::from).or_else(|| env.in_home(".postgresql/postgresql.key"));
    Ok(certificate.zip(key).map(|(certificate, key)| ClientCertificate { certificate, key }))
}

/// Reads `require_auth`: a list of methods, or of methods that are ruled out (`!md5`).
fn require_auth(parameters: &Parameters) -> Result<AuthPolicy> {
    const KEYWORD: &str = "require_auth";
    const METHODS: [AuthMethod; 4] =
        [AuthMethod::None, AuthMethod::Password, AuthMethod::Md5, AuthMethod::ScramSha256];
    /// Methods of libpq that we never do: allowing them changes nothing.
    const NEVER_DONE: [&str; 3] = ["gss", "sspi", "oauth"];

    let Some(list) = parameters.get(KEYWORD) else {
        return Ok(AuthPolicy::default());
    };
    let bad = |expected| ConnInfoError::Value { keyword: KEYWORD, expected };
    let negative = list.starts_with('!');
    let mut policy = if negative { AuthPolicy::default() } else { AuthPolicy::NOTHING };
    for item in list.split(',') {
        let name = item.strip_prefix('!').unwrap_or(item);
        if item.starts_with('!') != negative {
            return Err(bad("either methods or methods with \"!\", not both"));
        }
        match METHODS.iter().find(|method| method.name() == name) {
            Some(&method) => policy = policy.with(method, !negative),
            None if NEVER_DONE.contains(&name) => {}
            None => return Err(bad("a list of password, md5, scram-sha-256, gss, sspi, oauth and none")),
        }
    }
    Ok(policy)
}
