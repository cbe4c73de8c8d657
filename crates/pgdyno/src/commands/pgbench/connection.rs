//! Turns the command line's connection options into a connector.

use protocol::postgres::{Config, HostAddress};
use server::control::{Connector, ConnectorOptions};

use super::args::{ArgumentError, ConnectionArgs};
use super::fault;
use super::talk::{LogLevel, NAME, Talk};

/// Resolves the connection, and prints remarks (such as a passfile that others can read).
///
/// # Errors
/// Invalid options, in libpq's words.
pub(super) fn connector(connection: &ConnectionArgs, talk: &Talk) -> Result<Connector, ArgumentError> {
    let wanted = ConnectorOptions {
        database: connection.database.as_deref(),
        host: connection.host.as_deref(),
        port: connection.port.as_deref(),
        user: connection.user.as_deref(),
        program: NAME,
    };
    let connector = Connector::new(&wanted)
        .map_err(|problem| fault([problem, "could not create connection for setup".to_owned()]))?;
    for warning in &connector.config().warnings {
        talk.say(LogLevel::Plain, &format!("WARNING: {warning}"));
    }
    Ok(connector)
}

/// Host and port of the first server, as given.
pub(super) fn first_host(config: &Config) -> (String, u16) {
    match config.hosts.first().map(|spec| (&spec.host, spec.port)) {
        Some((HostAddress::Unix(folder), port)) => (folder.to_string_lossy().into_owned(), port),
        Some((HostAddress::Tcp { name, .. }, port)) => (name.clone(), port),
        None => (String::new(), 0),
    }
}

/// Prompts for a password at the terminal, without echo; `None` without a terminal.
pub(super) fn ask_password() -> Option<String> {
    rpassword::prompt_password("Password: ").ok()
}
