//! Resolves parameters to a connection: adds the service file, the environment and defaults, and parses
//! values.

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
use super::{hosts, keywords, passfile, service, text, uri};
use crate::postgres::login::Choices;
use crate::postgres::login::{AuthMethod, AuthPolicy, ChannelBinding, SslMode, SslNegotiation};

type Result<T> = std::result::Result<T, ConnInfoError>;

impl Config {
    /// Describes a connection by what the user wrote (a connection string, a URI, a database name or nothing)
    /// and the environment.
    ///
    /// # Errors
    /// When an option is unknown, unsupported or invalid, or a required file cannot be read.
    pub fn parse(dsn: Option<&str>, env: &Env) -> Result<Config> {
        Parameters::parse(dsn.unwrap_or_default())?.resolve(env)
    }
}

impl Parameters {
    /// Parses a connection string (`host=… dbname=…`), a URI (`postgres://…`) or a database name.
    ///
    /// # Errors
    /// When the syntax is wrong, or it names an option that libpq does not know or pgdyno does not support.
    pub fn parse(dsn: &str) -> Result<Parameters> {
        let mut parameters = Parameters::default();
        if let Some(rest) = uri::after_scheme(dsn) {
            uri::parse(rest, &mut parameters)?;
        } else if dsn.contains('=') {
            text::parse(dsn, &mut parameters)?;
        } else {
            parameters.set_default("dbname", dsn)?;
        }
        Ok(parameters)
    }

    /// Adds the service file, the environment and the defaults.
    ///
    /// # Errors
    /// When a value is invalid, or a required file cannot be read.
    pub fn resolve(&self, env: &Env) -> Result<Config> {
        resolve(self.clone(), env)
    }
}

fn resolve(mut parameters: Parameters, env: &Env) -> Result<Config> {
    fill_in(&mut parameters, env)?;
    let p = &parameters;
    let user = p.get("user").or_else(|| env.user()).ok_or(ConnInfoError::NoUser)?.to_owned();
    let mut config = Config {
        hosts: hosts::hosts(p, env)?,
        dbname: p.get("dbname").unwrap_or(&user).to_owned(),
        user,
        password: password(p),
        options: given(p, "options"),
        application_name: given(p, "application_name").or_else(|| given(p, "fallback_application_name")),
        client_encoding: client_encoding(p, env),
        settings: settings(env),
        ssl: ssl(p, env)?,
        channel_binding: choice(p, "channel_binding", &ChannelBinding::CHOICES)?,
        require_auth: require_auth(p)?,
        connect_timeout: integer(p, "connect_timeout")?.and_then(seconds),
        target_session_attrs: choice(p, "target_session_attrs", &TargetSession::CHOICES)?,
        load_balance: choice(p, "load_balance_hosts", &LOAD_BALANCING)?,
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

/// Adds missing options from the service file and the environment.
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

fn given(parameters: &Parameters, keyword: &str) -> Option<String> {
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

/// `auto` means the locale's encoding; only UTF-8 is recognised.
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

/// Settings from their own variables, such as `PGTZ`.
fn settings(env: &Env) -> Vec<(String, String)> {
    keywords::SETTING_VARIABLES
        .iter()
        .filter_map(|&(variable, setting)| Some((setting.to_owned(), env.variable(variable)?.to_owned())))
        .filter(|(_, value)| !value.eq_ignore_ascii_case("default"))
        .collect()
}

const LOAD_BALANCING: Choices<bool> =
    Choices { expected: "disable or random", values: &[("disable", false), ("random", true)] };
const HIDE_NAME: Choices<bool> = Choices { expected: "0 or 1", values: &[("1", false), ("0", true)] };

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CertificateMode {
    #[default]
    Allow,
    Disable,
}

const CERTIFICATE_MODES: Choices<CertificateMode> = Choices {
    expected: "disable or allow",
    values: &[("allow", CertificateMode::Allow), ("disable", CertificateMode::Disable)],
};

/// Parses an option with a fixed set of values; the default if it is missing.
fn choice<T: Copy + PartialEq + Default>(
    parameters: &Parameters,
    keyword: &'static str,
    choices: &Choices<T>,
) -> Result<T> {
    match parameters.get(keyword) {
        None => Ok(T::default()),
        Some(value) => {
            choices.read(value).ok_or(ConnInfoError::Value { keyword, expected: choices.expected })
        }
    }
}

/// TLS before 1.2 is not built in, so a lower bound below it has no effect.
fn min_version(parameters: &Parameters) -> Result<Option<TlsVersion>> {
    const KEYWORD: &str = "ssl_min_protocol_version";
    match parameters.get(KEYWORD) {
        None | Some("TLSv1" | "TLSv1.1") => Ok(None),
        Some(value) => {
            let bad = ConnInfoError::Value { keyword: KEYWORD, expected: "TLSv1.2 or TLSv1.3" };
            TlsVersion::CHOICES.read(value).map(Some).ok_or(bad)
        }
    }
}

fn max_version(parameters: &Parameters) -> Result<Option<TlsVersion>> {
    const KEYWORD: &str = "ssl_max_protocol_version";
    let Some(value) = parameters.get(KEYWORD) else { return Ok(None) };
    let choices = &TlsVersion::CHOICES;
    let bad = ConnInfoError::Value { keyword: KEYWORD, expected: choices.expected };
    choices.read(value).map(Some).ok_or(bad)
}

fn integer(parameters: &Parameters, keyword: &'static str) -> Result<Option<i32>> {
    let Some(value) = parameters.get(keyword) else {
        return Ok(None);
    };
    let bad = |_| ConnInfoError::Value { keyword, expected: "an integer" };
    value.trim().parse().map(Some).map_err(bad)
}

/// 0 and less mean "not set".
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
        mode: choice(parameters, "sslmode", &SslMode::CHOICES)?,
        negotiation: choice(parameters, "sslnegotiation", &SslNegotiation::CHOICES)?,
        root: RootCertificates::None,
        client: client_certificate(parameters, env)?,
        hide_name: choice(parameters, "sslsni", &HIDE_NAME)?,
        min_version: min_version(parameters)?,
        max_version: max_version(parameters)?,
    };
    let root = root_certificates(parameters, options.mode, env);
    let options = SslOptions { root, ..options };
    check_ssl(&options)?;
    Ok(options)
}

/// The default file counts if it exists, or if the mode requires a root certificate.
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

/// The named certificate, or the default one if it exists.
fn client_certificate(parameters: &Parameters, env: &Env) -> Result<Option<ClientCertificate>> {
    if choice(parameters, "sslcertmode", &CERTIFICATE_MODES)? == CertificateMode::Disable {
        return Ok(None);
    }
    let named = parameters.get("sslcert").map(PathBuf::from);
    let certificate =
        named.or_else(|| env.in_home(".postgresql/postgresql.crt").filter(|path| env.exists(path)));
    let key =
        parameters.get("sslkey").map(PathBuf::from).or_else(|| env.in_home(".postgresql/postgresql.key"));
    Ok(certificate.zip(key).map(|(certificate, key)| ClientCertificate { certificate, key }))
}

/// Parses `require_auth`: a list of methods, or of excluded methods (`!md5`).
fn require_auth(parameters: &Parameters) -> Result<AuthPolicy> {
    const KEYWORD: &str = "require_auth";
    /// Methods of libpq that are not built in: allowing them changes nothing.
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
        match AuthMethod::CHOICES.read(name) {
            Some(method) => policy = policy.with(method, !negative),
            None if NEVER_DONE.contains(&name) => {}
            None => return Err(bad(AuthMethod::CHOICES.expected)),
        }
    }
    Ok(policy)
}
