//! A resolved connection as a string again, for a process that sees none of our surroundings.

use std::path::Path;
use std::time::Duration;

use super::config::Config;
use super::options::{TargetSession, TlsVersion};
use super::text::quote;
use crate::postgres::login::{AuthMethod, ChannelBinding, SslNegotiation};

impl Config {
    /// A connection string that means this connection in any environment. The password is not in it (but what the
    /// server's options hold is: it is not to be shown), nor are settings
    /// from variables of their own (`PGTZ` and the like).
    #[must_use]
    pub fn exact(&self) -> String {
        let mut parts = Vec::new();
        self.add_tls(&mut parts);
        self.add_login(&mut parts);
        self.add_patience(&mut parts);
        let beside: String = parts.iter().map(|(name, value)| format!(" {name}={}", quote(value))).collect();
        format!("{}{beside}", self.in_words_with(str::to_owned))
    }

    fn add_tls(&self, parts: &mut Vec<(&'static str, String)>) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        match &self.ssl.client {
            Some(client) => {
                parts.extend([("sslcert", text(&client.certificate)), ("sslkey", text(&client.key))]);
            }
            None => parts.push(("sslcertmode", "disable".to_owned())),
        }
        // `in_words_with` names the mode where TLS can be used at all; direct negotiation is refused without it.
        if self.ssl.negotiation == SslNegotiation::Direct
            && self.hosts.iter().any(|host| host.socket_path().is_none())
        {
            parts.push(("sslnegotiation", "direct".to_owned()));
        }
        if self.ssl.hide_name {
            parts.push(("sslsni", "0".to_owned()));
        }
        let version = |version: TlsVersion| match version {
            TlsVersion::V1_2 => "TLSv1.2".to_owned(),
            TlsVersion::V1_3 => "TLSv1.3".to_owned(),
        };
        parts.extend(self.ssl.min_version.map(|min| ("ssl_min_protocol_version", version(min))));
        parts.extend(self.ssl.max_version.map(|max| ("ssl_max_protocol_version", version(max))));
    }

    fn add_login(&self, parts: &mut Vec<(&'static str, String)>) {
        match self.channel_binding {
            ChannelBinding::Prefer => {}
            ChannelBinding::Disable => parts.push(("channel_binding", "disable".to_owned())),
            ChannelBinding::Require => parts.push(("channel_binding", "require".to_owned())),
        }
        const METHODS: [AuthMethod; 4] =
            [AuthMethod::None, AuthMethod::Password, AuthMethod::Md5, AuthMethod::ScramSha256];
        let allowed: Vec<&str> = METHODS
            .into_iter()
            .filter(|method| self.require_auth.allows(*method))
            .map(AuthMethod::name)
            .collect();
        match allowed.len() {
            4 => {}
            // What was allowed is not built in: nothing is.
            0 => parts.push(("require_auth", "gss".to_owned())),
            _ => parts.push(("require_auth", allowed.join(","))),
        }
        parts.extend(self.application_name.clone().map(|name| ("application_name", name)));
        parts.extend(self.client_encoding.clone().map(|encoding| ("client_encoding", encoding)));
    }

    fn add_patience(&self, parts: &mut Vec<(&'static str, String)>) {
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
        let sessions = match self.target_session_attrs {
            TargetSession::Any => return,
            TargetSession::ReadWrite => "read-write",
            TargetSession::ReadOnly => "read-only",
            TargetSession::Primary => "primary",
            TargetSession::Standby => "standby",
            TargetSession::PreferStandby => "prefer-standby",
        };
        parts.push(("target_session_attrs", sessions.to_owned()));
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
                // Sockets have no TLS: how it would be used is not said.
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
