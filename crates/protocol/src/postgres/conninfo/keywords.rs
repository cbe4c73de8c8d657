//! Every connection option of libpq 18: name, environment variable, and support in pgdyno.

use super::error::ConnInfoError;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Keyword {
    pub(super) name: &'static str,
    pub(super) variable: Option<&'static str>,
    support: Support,
}

#[derive(Debug, PartialEq, Eq)]
enum Support {
    Used,
    /// Accepted without effect, as in a libpq built without the library it needs.
    Inert,
    /// Only values without a special meaning are accepted.
    Refused {
        harmless: &'static [&'static str],
        reason: &'static str,
    },
}

const NO_GSS: &str = "GSSAPI is not built in";
const NO_CRL: &str = "certificate revocation lists are not checked";
const NO_OAUTH: &str = "OAuth is not built in";
const NO_KEYS: &str = "give the password instead; its SCRAM keys are derived once and kept";
const ONLY_3_0: &str = "pgdyno speaks protocol 3.0, which every server from 7.4 on understands";

use Support::{Inert, Used};

/// In the order of libpq's documentation.
pub(super) const KEYWORDS: &[Keyword] = &[
    keyword("host", Some("PGHOST"), Used),
    keyword("hostaddr", Some("PGHOSTADDR"), Used),
    keyword("port", Some("PGPORT"), Used),
    keyword("dbname", Some("PGDATABASE"), Used),
    keyword("user", Some("PGUSER"), Used),
    keyword("password", Some("PGPASSWORD"), Used),
    keyword("passfile", Some("PGPASSFILE"), Used),
    keyword("require_auth", Some("PGREQUIREAUTH"), Used),
    keyword("channel_binding", Some("PGCHANNELBINDING"), Used),
    keyword("connect_timeout", Some("PGCONNECT_TIMEOUT"), Used),
    keyword("client_encoding", Some("PGCLIENTENCODING"), Used),
    keyword("options", Some("PGOPTIONS"), Used),
    keyword("application_name", Some("PGAPPNAME"), Used),
    keyword("fallback_application_name", None, Used),
    keyword("keepalives", None, Used),
    keyword("keepalives_idle", None, Used),
    keyword("keepalives_interval", None, Used),
    keyword("keepalives_count", None, Used),
    keyword("tcp_user_timeout", None, Used),
    keyword(
        "replication",
        None,
        refused(&["false", "off", "no", "0"], "replication connections take no queries"),
    ),
    keyword("gssencmode", Some("PGGSSENCMODE"), refused(&["disable", "prefer"], NO_GSS)),
    keyword("sslmode", Some("PGSSLMODE"), Used),
    keyword("sslnegotiation", Some("PGSSLNEGOTIATION"), Used),
    keyword(
        "sslcompression",
        Some("PGSSLCOMPRESSION"),
        refused(&["0"], "TLS compression is insecure and gone from TLS"),
    ),
    keyword("sslcert", Some("PGSSLCERT"), Used),
    keyword("sslkey", Some("PGSSLKEY"), Used),
    keyword("sslkeylogfile", None, refused(&[], "TLS secrets are not written to files")),
    keyword("sslpassword", None, refused(&[], "use a client key that is not encrypted")),
    keyword("sslcertmode", Some("PGSSLCERTMODE"), Used),
    keyword("sslrootcert", Some("PGSSLROOTCERT"), Used),
    keyword("sslcrl", Some("PGSSLCRL"), refused(&[], NO_CRL)),
    keyword("sslcrldir", Some("PGSSLCRLDIR"), refused(&[], NO_CRL)),
    keyword("sslsni", Some("PGSSLSNI"), Used),
    keyword(
        "requirepeer",
        Some("PGREQUIREPEER"),
        refused(&[], "the owner of the server process is not checked"),
    ),
    keyword("ssl_min_protocol_version", Some("PGSSLMINPROTOCOLVERSION"), Used),
    keyword("ssl_max_protocol_version", Some("PGSSLMAXPROTOCOLVERSION"), Used),
    keyword("min_protocol_version", Some("PGMINPROTOCOLVERSION"), refused(&["3.0"], ONLY_3_0)),
    keyword(
        "max_protocol_version",
        Some("PGMAXPROTOCOLVERSION"),
        refused(&["3.0", "3.2", "latest"], ONLY_3_0),
    ),
    keyword("krbsrvname", Some("PGKRBSRVNAME"), Inert),
    keyword("gsslib", Some("PGGSSLIB"), Inert),
    keyword("gssdelegation", Some("PGGSSDELEGATION"), Inert),
    keyword("scram_client_key", None, refused(&[], NO_KEYS)),
    keyword("scram_server_key", None, refused(&[], NO_KEYS)),
    keyword("service", Some("PGSERVICE"), Used),
    keyword("servicefile", Some("PGSERVICEFILE"), Used),
    keyword("target_session_attrs", Some("PGTARGETSESSIONATTRS"), Used),
    keyword("load_balance_hosts", Some("PGLOADBALANCEHOSTS"), Used),
    keyword("oauth_issuer", None, refused(&[], NO_OAUTH)),
    keyword("oauth_client_id", None, refused(&[], NO_OAUTH)),
    keyword("oauth_client_secret", None, refused(&[], NO_OAUTH)),
    keyword("oauth_scope", None, refused(&[], NO_OAUTH)),
];

/// Settings that libpq sends at startup, by variable.
pub(super) const SETTING_VARIABLES: &[(&str, &str)] =
    &[("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")];

const fn keyword(name: &'static str, variable: Option<&'static str>, support: Support) -> Keyword {
    Keyword { name, variable, support }
}

const fn refused(harmless: &'static [&'static str], reason: &'static str) -> Support {
    Support::Refused { harmless, reason }
}

impl Keyword {
    /// Refuses a value that needs something unsupported.
    pub(super) fn check(&self, value: &str) -> Result<(), ConnInfoError> {
        match &self.support {
            Support::Refused { harmless, reason } if !value.is_empty() && !harmless.contains(&value) => {
                Err(ConnInfoError::Unsupported { keyword: self.name, reason })
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn find(name: &str) -> Result<&'static Keyword, ConnInfoError> {
    KEYWORDS
        .iter()
        .find(|keyword| keyword.name == name)
        .ok_or_else(|| ConnInfoError::UnknownKeyword { number: None, nearest: nearest(name) })
}

/// The word to show if its value is missing: the number instead, unless it is a known option, since it may be
/// part of a password with blanks.
pub(super) fn word_or_number(word: &str, number: usize) -> String {
    match find(word) {
        Ok(keyword) => format!("\"{}\"", keyword.name),
        Err(_) => format!("word {number}"),
    }
}

/// The option most similar to a misspelt name, if any.
fn nearest(name: &str) -> Option<&'static str> {
    // Names other programs use.
    match name.to_ascii_lowercase().as_str() {
        "database" | "db" => return Some("dbname"),
        "username" => return Some("user"),
        "pass" | "passwd" => return Some("password"),
        "timeout" => return Some("connect_timeout"),
        _ => {}
    }
    crate::nearest(name, KEYWORDS.iter().map(|keyword| keyword.name))
}
