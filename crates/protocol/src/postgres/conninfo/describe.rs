//! Writes a resolved connection as a string: to show, to compare, to pass on.

use std::path::Path;
use std::time::Duration;

use super::config::Config;
use super::hosts::{DEFAULT_PORT, HostAddress, HostSpec, is_default_folder};
use super::options::{RootCertificates, TargetSession, TlsVersion};
use super::secret::shown_options;
use super::text::connection_string;
use crate::postgres::login::{AuthMethod, ChannelBinding, SslNegotiation};

type Parts = Vec<(&'static str, String)>;

impl Config {
    /// A connection string without password, to show and to store. It leads to the same place if the password
    /// is found elsewhere.
    #[must_use]
    pub fn redacted(&self) -> String {
        connection_string(&self.parts(shown_options))
    }

    /// The public parts, with the server's options written by `options`.
    fn parts(&self, options: impl Fn(&str) -> String) -> Parts {
        let mut parts = vec![("host", self.host_list())];
        if let Some(addresses) = self.address_list() {
            parts.push(("hostaddr", addresses));
        }
        parts.push(("port", self.port_list()));
        parts.push(("user", self.user.clone()));
        parts.push(("dbname", self.dbname.clone()));
        if self.hosts.iter().any(|host| host.socket_path().is_none()) {
            parts.extend(self.ssl_parts());
        }
        parts.extend(self.options.as_ref().map(|given| ("options", options(given))));
        parts
    }

    /// Where the connection leads, for any user: servers, database, and the options that may change
    /// measurements there. The same place gives the same text, however it was written; without user name and
    /// password.
    #[must_use]
    pub fn place(&self) -> String {
        let named = self.join_hosts(|spec| match &spec.host {
            HostAddress::Unix(folder) if is_default_folder(folder) => String::new(),
            HostAddress::Unix(folder) => folder.to_string_lossy().into_owned(),
            HostAddress::Tcp { name, .. } => name.to_ascii_lowercase(),
        });
        let mut parts = vec![("host", named)];
        parts.extend(self.address_list().map(|addresses| ("hostaddr", addresses)));
        parts.push(("port", self.port_list()));
        parts.push(("dbname", self.dbname.clone()));
        if self.hosts.iter().any(|host| host.socket_path().is_none()) {
            parts.push(("sslmode", self.ssl.mode.name().to_owned()));
        }
        if self.target_session_attrs != TargetSession::Any {
            parts.push(("target_session_attrs", format!("{:?}", self.target_session_attrs)));
        }
        parts.extend(self.options.as_ref().map(|options| ("options", shown_options(options))));
        connection_string(&parts)
    }

    fn host_list(&self) -> String {
        self.join_hosts(|spec| match &spec.host {
            HostAddress::Unix(folder) => folder.to_string_lossy().into_owned(),
            HostAddress::Tcp { name, .. } => name.clone(),
        })
    }

    /// Addresses, unless the names are enough.
    fn address_list(&self) -> Option<String> {
        let list = self.join_hosts(|spec| match &spec.host {
            HostAddress::Tcp { name, address: Some(address) } if name.parse() != Ok(*address) => {
                address.to_string()
            }
            _ => String::new(),
        });
        Some(list).filter(|list| list.chars().any(|c| c != ','))
    }

    fn port_list(&self) -> String {
        let first = self.hosts.first().map_or(DEFAULT_PORT, |spec| spec.port);
        if self.hosts.iter().all(|spec| spec.port == first) {
            return first.to_string();
        }
        self.join_hosts(|spec| spec.port.to_string())
    }

    fn join_hosts(&self, text: impl Fn(&HostSpec) -> String) -> String {
        self.hosts.iter().map(text).collect::<Vec<_>>().join(",")
    }

    fn ssl_parts(&self) -> Parts {
        let mut parts = vec![("sslmode", self.ssl.mode.name().to_owned())];
        match &self.ssl.root {
            RootCertificates::None => {}
            RootCertificates::System => parts.push(("sslrootcert", "system".to_owned())),
            RootCertificates::File(path) => parts.push(("sslrootcert", path.to_string_lossy().into_owned())),
        }
        parts
    }

    /// A connection string for the same connection in any environment. Without the password and without
    /// settings from `PGTZ` and similar variables. The server's options may contain secrets: do not show it.
    #[must_use]
    pub fn exact(&self) -> String {
        let mut parts = self.parts(str::to_owned);
        self.add_tls(&mut parts);
        self.add_login(&mut parts);
        self.add_timeouts(&mut parts);
        connection_string(&parts)
    }

    fn add_tls(&self, parts: &mut Parts) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        match &self.ssl.client {
            Some(client) => {
                parts.extend([("sslcert", text(&client.certificate)), ("sslkey", text(&client.key))]);
            }
            None => parts.push(("sslcertmode", "disable".to_owned())),
        }
        // `parts` names the mode where TLS is possible; direct negotiation requires TLS.
        if self.ssl.negotiation == SslNegotiation::Direct
            && self.hosts.iter().any(|host| host.socket_path().is_none())
        {
            parts.push(("sslnegotiation", "direct".to_owned()));
        }
        if self.ssl.hide_name {
            parts.push(("sslsni", "0".to_owned()));
        }
        let version = |version| TlsVersion::CHOICES.name(version).to_owned();
        parts.extend(self.ssl.min_version.map(|min| ("ssl_min_protocol_version", version(min))));
        parts.extend(self.ssl.max_version.map(|max| ("ssl_max_protocol_version", version(max))));
    }

    fn add_login(&self, parts: &mut Parts) {
        if self.channel_binding != ChannelBinding::Prefer {
            parts.push(("channel_binding", ChannelBinding::CHOICES.name(self.channel_binding).to_owned()));
        }
        let methods = AuthMethod::CHOICES.values.iter();
        let allowed = methods.clone().filter(|(_, method)| self.require_auth.allows(*method));
        let allowed: Vec<&str> = allowed.map(|(name, _)| *name).collect();
        match allowed.len() {
            all if all == methods.len() => {}
            // None of the allowed methods is built in.
            0 => parts.push(("require_auth", "gss".to_owned())),
            _ => parts.push(("require_auth", allowed.join(","))),
        }
        parts.extend(self.application_name.clone().map(|name| ("application_name", name)));
        parts.extend(self.client_encoding.clone().map(|encoding| ("client_encoding", encoding)));
    }

    fn add_timeouts(&self, parts: &mut Parts) {
        let seconds = |time: Duration| time.as_secs().max(1).to_string();
        parts.extend(self.connect_timeout.map(|time| ("connect_timeout", seconds(time))));
        if !self.tcp.keepalives {
            parts.push(("keepalives", "0".to_owned()));
        }
        parts.extend(self.tcp.idle.map(|time| ("keepalives_idle", seconds(time))));
        parts.extend(self.tcp.interval.map(|time| ("keepalives_interval", seconds(time))));
        parts.extend(self.tcp.count.map(|count| ("keepalives_count", count.to_string())));
        parts.extend(self.tcp.user_timeout.map(|time| ("tcp_user_timeout", time.as_millis().to_string())));
        if self.load_balance {
            parts.push(("load_balance_hosts", "random".to_owned()));
        }
        if self.target_session_attrs != TargetSession::Any {
            let wanted = TargetSession::CHOICES.name(self.target_session_attrs);
            parts.push(("target_session_attrs", wanted.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Env;
    use super::*;

    #[test]
    fn a_connection_means_the_same_without_its_surroundings() {
        let env = Env::empty()
            .with_user("ann")
            .with_home("/home/ann")
            .with_variable("PGPORT", "5433")
            .with_variable("PGSSLCERT", "/c")
            .with_variable("PGSSLKEY", "/k")
            .with_variable("PGAPPNAME", "it's")
            .with_file("/home/ann/.postgresql/root.crt", "", 0o600);
        for dsn in [
            "",
            "postgres://h1,h2:7/db",
            "host=/tmp sslcertmode=disable",
            "host=h hostaddr=192.0.2.1 sslmode=verify-full sslnegotiation=direct sslsni=0 channel_binding=require",
            "host=h require_auth=scram-sha-256,md5 ssl_min_protocol_version=TLSv1.3 connect_timeout=7",
            "host=h require_auth=gss options='-c a=b\\ c' target_session_attrs=primary tcp_user_timeout=1500",
            "host=h load_balance_hosts=random keepalives=0 keepalives_idle=5 keepalives_interval=6 keepalives_count=7 client_encoding=LATIN1",
        ] {
            let there = Config::parse(Some(dsn), &env).unwrap();
            let here = Config::parse(Some(&there.exact()), &Env::empty()).unwrap();
            if there.hosts.iter().all(|host| host.socket_path().is_some()) {
                // TLS options do not matter on a socket.
                assert_eq!(Config { ssl: there.ssl.clone(), ..here }, there, "{dsn}");
            } else {
                assert_eq!(here, there, "{dsn}");
            }
        }
    }

    #[test]
    fn a_password_is_not_in_it() {
        let config = Config::parse(Some("postgres://u:geheim@h/d"), &Env::empty()).unwrap();
        assert!(!config.exact().contains("geheim"));
    }
}
