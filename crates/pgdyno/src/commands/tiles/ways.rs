//! Ways to get tiles: `--via`, and `--against 'via: …'`.

use std::borrow::Cow;

use protocol::without_credentials;
use toml::Value;
use workloads::tiles::Via;

use super::layers::Layers;
use crate::commands::bench::against::base::BaseServer;
use crate::commands::bench::against::usage;
use crate::commands::bench::against::written::parts;

/// Most database connections of a tile server by default.
const POOL: u32 = 50;

/// Parses `tipg`, or the URL of a web server. The error lists the ways.
pub(super) fn way(text: &str) -> Result<Via, String> {
    match text.trim() {
        "http" => Err("a web server is given by its URL, such as http://localhost:3000/{z}/{x}/{y}".into()),
        text => Value::from(text).try_into().map_err(|error: toml::de::Error| error.message().to_owned()),
    }
}

/// Parses the ways after `via:` in `--against`: separated by commas, or one URL, which may contain commas.
pub(super) fn listed(written: &str) -> anyhow::Result<Vec<Via>> {
    let told = |why: String| usage(&format!("--against 'via: …': {why}"), "");
    let ways = match written.contains("://") {
        true => vec![written],
        false => parts(written).map_err(told)?,
    };
    if ways.is_empty() {
        return Err(usage("--against 'via:' has no value", "write 'via: martin'"));
    }
    ways.into_iter().map(|text| way(text).map_err(told)).collect()
}

/// Whether the URL may contain a user and a password.
pub(super) fn has_login(via: &Via) -> bool {
    matches!(via, Via::Http(url) if matches!(without_credentials(url), Cow::Owned(_)))
}

pub(super) fn value(via: &Via) -> Value {
    match via {
        Via::Http(url) => url.as_str().into(),
        other => Value::try_from(other).expect("a word"),
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ways {
    base: Via,
    others: Vec<Via>,
}

impl Ways {
    /// # Errors
    /// The same way twice, or an arm's name that would contain a password.
    pub(super) fn new(base: Option<&Via>, others: &[Via]) -> anyhow::Result<Self> {
        let ways = Self { base: base.cloned().unwrap_or_default(), others: others.to_vec() };
        let all: Vec<&Via> = ways.all().collect();
        let twice = all.iter().enumerate().find(|(place, via)| all[..*place].contains(via));
        if let Some((_, twice)) = twice {
            return Err(usage(&format!("via: {} is given twice", called(twice)), "name each way once"));
        }
        if ways.is_compared() && ways.has_login() {
            let what = "via: arms are called as they were typed, and a password stands in a URL";
            return Err(usage(what, "an experiment file with a workload for each, compared by `workload`"));
        }
        Ok(ways)
    }

    fn all(&self) -> impl Iterator<Item = &Via> {
        std::iter::once(&self.base).chain(&self.others)
    }

    fn has(&self, wanted: &Via) -> bool {
        self.all().any(|via| via == wanted)
    }

    pub(super) fn is_compared(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether a URL among them may contain a user and a password.
    pub(super) fn has_login(&self) -> bool {
        self.all().any(has_login)
    }

    pub(super) fn levels(&self) -> Option<(Value, Vec<Value>)> {
        self.is_compared().then(|| (value(&self.base), self.all().map(value).collect()))
    }

    /// Whether one of the ways is a web server, which answers with HTTP statuses.
    pub(super) fn asks_web(&self) -> bool {
        self.all().any(|via| !matches!(via, Via::Sql | Via::Redis))
    }

    pub(super) fn tile_servers(&self) -> Vec<&'static str> {
        self.all().filter_map(Via::tile_server).collect()
    }

    /// Adds Redis to a private server if a way needs it. An error for a database by URL, whose Redis is
    /// unknown.
    pub(super) fn with_redis(&self, server: BaseServer) -> anyhow::Result<BaseServer> {
        match server {
            server if !self.has(&Via::Redis) => Ok(server),
            BaseServer::Managed { name, extensions, .. } => {
                Ok(BaseServer::Managed { name, extensions, redis: true })
            }
            BaseServer::Url(_) => {
                let what = "via redis: a private server has a Redis, and a database is given";
                let hint =
                    "leave -d out; or an experiment file with redis = \"redis://HOST:PORT\" in [target]";
                Err(usage(what, hint))
            }
        }
    }

    /// Concurrent connections to the database: `links` for each client, and those for tile servers.
    pub(super) fn connections(&self, clients: u32, links: u32) -> u32 {
        let all = clients.saturating_mul(links);
        let direct = match (self.has(&Via::Sql), self.has(&Via::Redis)) {
            (true, _) => all,
            (false, true) => clients,
            (false, false) => 0,
        };
        self.tile_servers().iter().fold(direct, |sum, _| sum.saturating_add(all.min(POOL)))
    }

    /// Whether SQL statements, which can be explained, make the tiles.
    pub(super) fn is_explained(&self) -> bool {
        matches!(self.base, Via::Sql | Via::Redis)
    }

    /// ` by martin`; empty for SQL.
    pub(super) fn in_words(&self) -> String {
        if self.base == Via::Sql { String::new() } else { format!(" by {}", called(&self.base)) }
    }

    /// The question about the ways, unless layers are compared.
    pub(super) fn question(&self, layers: &Layers) -> Option<String> {
        let tiles = layers.in_words();
        let others: Vec<&str> = self.others.iter().map(called).collect();
        match &others[..] {
            [] if self.base == Via::Sql => None,
            [] => Some(format!("How fast are {tiles}{}?", self.in_words())),
            others => {
                let (others, base) = (others.join(" or "), called(&self.base));
                Some(format!("Are {tiles} faster by {others} than by {base}, and at which zoom?"))
            }
        }
    }

    /// For the file name: `by martin`, `SQL against martin`.
    pub(super) fn short(&self) -> String {
        let words = |ways: &[Via]| ways.iter().map(Via::words).collect::<Vec<_>>().join(" and ");
        match self.is_compared() {
            true => format!(" {} against {}", self.base.words(), words(&self.others)),
            false if self.base == Via::Sql => String::new(),
            false => format!(" by {}", self.base.words()),
        }
    }
}

/// The name in a question: URLs without passwords.
fn called(via: &Via) -> &str {
    match via {
        Via::Http(url) if !has_login(via) => url,
        other => other.words(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_words_and_urls() {
        let url = "http://localhost:3000/{z}/{x}/{y}";
        assert_eq!(way("tipg"), Ok(Via::Tipg));
        assert_eq!(way(url), Ok(Via::Http(url.to_owned())));
        assert!(way("http").unwrap_err().contains("by its URL"));
        assert!(way("martn").unwrap_err().contains("did you mean \"martin\"?"));
        assert_eq!(listed(" tipg, martin ").unwrap(), [Via::Tipg, Via::Martin]);
        let commas = format!("{url}?a=1,2");
        assert_eq!(listed(&commas).unwrap(), [Via::Http(commas.clone())]);
        // Values are parsed back to the same way.
        for via in [Via::Sql, Via::Martin, Via::Http(commas)] {
            assert_eq!(value(&via).try_into(), Ok(via));
        }
    }

    #[test]
    fn tile_servers_need_connections_too() {
        let of =
            |others: &[Via], clients, links| Ways::new(None, others).unwrap().connections(clients, links);
        assert_eq!(of(&[], 20, 6), 120);
        assert_eq!(of(&[Via::Tipg, Via::Martin], 20, 6), 120 + 50 + 50);
        assert_eq!(of(&[Via::Tipg, Via::Redis], 3, 1), 3 + 3);
        let ways = Ways::new(Some(&Via::Http("http://h/{z}/{x}/{y}".into())), &[]).unwrap();
        assert_eq!(ways.connections(500, 6), 0);
    }
}
