//! Arms by URL on one server: a pooler against a direct connection, or two databases.

use protocol::postgres::sql::Sql as _;
use server::settings::journal::ServerId;
use spec::plan::TargetSpec;
use spec::{Class, Error};

use crate::error::of_sql;
use crate::runner::Stage;
use crate::setup::At;

pub(super) struct Opened<'a> {
    pub(super) at: &'a At,
    pub(super) spec: &'a TargetSpec,
    pub(super) stage: &'a mut Stage,
}

/// A sentence about what two arms share, if they are one server. Both store it.
///
/// # Errors
/// When they cannot be two arms: one is managed, or settings of the whole server are changed (`sets`: arms
/// set something). Also if nothing differs, unless that is intended (`same`).
pub(super) fn share(
    one: &mut Opened<'_>,
    other: &mut Opened<'_>,
    sets: bool,
    same: bool,
) -> Result<Option<String>, Error> {
    let (own, its) = (
        ServerId::ask(one.stage.control()?).map_err(of_sql)?,
        ServerId::ask(other.stage.control()?).map_err(of_sql)?,
    );
    if !own.is(&its) {
        return Ok(None);
    }
    let (a, b) = (one.at, other.at);
    let only_named = At { server: a.server.clone(), ..b.clone() } == *a;
    let by_url = |opened: &Opened<'_>| matches!(opened.spec, TargetSpec::Url { .. });
    if !(only_named && by_url(one) && by_url(other)) {
        let what = format!("{a} and {b} are one server, by its system identifier");
        return Err(Error::new(Class::BadInput, what).with_hint("name two servers, or give both by URL"));
    }
    let changed = |opened: &Opened<'_>| matches!(opened.spec, TargetSpec::Url { change_server: true, .. });
    if sets && (changed(one) || changed(other)) {
        let what = format!(
            "{a} and {b} are one server, and what an arm changes there (change_server) would be changed for both"
        );
        let hint = "name two servers, or leave change_server out and set only what a session can";
        return Err(Error::new(Class::BadInput, what).with_hint(hint));
    }
    let ways = [way(one)?, way(other)?];
    if ways[0] == ways[1] && !same {
        let what = format!("{a} and {b} are the same: one database of one server, reached in the same way");
        return Err(Error::new(Class::BadInput, what).with_hint("give --same if A against A is meant"));
    }
    let words = words([a, b], &ways);
    one.stage.shares(words.clone());
    other.stage.shares(words.clone());
    Ok(Some(words))
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    database: String,
    role: String,
    /// The pooler and its address, or the kind of a direct connection.
    by: String,
}

fn way(opened: &mut Opened<'_>) -> Result<Way, Error> {
    let pooling = opened.stage.target.pooling();
    let asked = opened.stage.target.database().to_owned();
    let control = opened.stage.control()?;
    // A pooler may have another name for it.
    let database = control
        .scalar("SELECT current_database()")
        .map_err(|error| server::sql_error("asking for the database", error))?;
    let database = database.unwrap_or(asked);
    let role = control.place().login.user.clone();
    let address = &control.place().address;
    let tls = if control.is_secure() { " with TLS" } else { "" };
    let by = match (pooling.words(), address) {
        (Some(words), address) => {
            let words = words.split(':').next().unwrap_or(words);
            format!("through {words} {}{tls}", address.in_words(None))
        }
        (None, protocol::Address::Unix(_)) => "directly by socket".to_owned(),
        (None, protocol::Address::Tcp(_)) => format!("directly by TCP{tls}"),
    };
    Ok(Way { database, role, by })
}

fn words([a, b]: [&At; 2], [one, other]: &[Way; 2]) -> String {
    let shared = match one.database == other.database {
        true => format!("one server and its database {}", one.database),
        false => format!("one server, {a} in its database {} and {b} in {}", one.database, other.database),
    };
    let ways = match one.by == other.by {
        true => String::new(),
        false => format!("; {a} is reached {}, {b} {}", one.by, other.by),
    };
    let roles = match one.role == other.role {
        true => String::new(),
        false => format!("; {a} has the role {}, {b} {}", one.role, other.role),
    };
    format!("{a} and {b} share {shared}{ways}{roles}: what one does to caches, WAL and disk the other finds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arms_share_and_what_they_do_not_is_told() {
        let at = |name: &str| At { server: Some(name.to_owned()), ..At::default() };
        let way =
            |database: &str, by: &str| Way { database: database.into(), role: "ann".into(), by: by.into() };
        let told = |ways: [Way; 2]| words([&at("base"), &at("other")], &ways);
        assert_eq!(
            told([way("shop", "directly by TCP"), way("shop", "through a transaction pooler at h")]),
            "base and other share one server and its database shop; base is reached directly by TCP, other through a \
             transaction pooler at h: what one does to caches, WAL and disk the other finds"
        );
        assert_eq!(
            told([way("ff80", "directly by TCP"), way("ff100", "directly by TCP")]),
            "base and other share one server, base in its database ff80 and other in ff100: what one does to caches, WAL \
             and disk the other finds"
        );
    }
}
