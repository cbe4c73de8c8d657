//! Users as a load: their sessions, and the scripts that these name.

use std::collections::BTreeMap;

use spec::experiment::{Search, Users};
use spec::given;
use spec::plan::PlannedUsers;
use spec::users::{PlannedSessions, Session, read_pauses};

use toml::Value;

use super::Builder;
use crate::experiment::model::{LoadKind, LoadSpec, NamedWorkload};

const PLACE: [&str; 3] = ["load", "users", "session"];

impl Builder<'_, '_> {
    pub(super) fn users(&mut self, written: &Users) -> PlannedUsers {
        let active_share = written.active_share.map(|share| share.0);
        let Some(session) = &written.session else {
            return PlannedUsers { active_share, ..self.pausing(written) };
        };
        for (key, why) in [
            ("think", "a session has its own think times"),
            ("ramp", "write arrivals = \"0.5s apart\" in its place"),
        ] {
            if self.document.value(&["load", "users", key]).is_some() {
                let message = format!("`session` and `{key}` cannot be combined: {why}");
                self.document.wrong(&["load", "users", key], message, None);
            }
        }
        let arrivals = written.arrivals.clone().unwrap_or_default();
        let is_open = arrivals.open_per_s().is_some();
        if is_open && session.pauses_after() {
            let message = "a user who comes openly leaves after the session: it cannot end with a think time"
                .to_owned();
            let place = ["load", "users", "arrivals"];
            self.document.wrong(&place, message, Some("leave the last think time out"));
        }
        if is_open && self.document.value(&["load", "search"]).is_some() {
            let message =
                "a search varies the number of users, and users who come openly have none".to_owned();
            self.document.wrong(&["load", "users", "arrivals"], message, Some("leave arrivals out"));
        }
        if arrivals.need_duration() && written.sessions.is_some() {
            let message =
                "users who come and go do so for a duration, not for a number of sessions".to_owned();
            self.document.wrong(
                &["load", "users", "sessions"],
                message,
                Some("leave it out, and write a duration"),
            );
        }
        if written.sessions.is_some() && self.document.value(&["measure", "transactions"]).is_some() {
            let message = "`measure.transactions` and `load.users.sessions` cannot be combined".to_owned();
            self.document.wrong_key(&["measure", "transactions"], message, None);
        }
        let sessions = PlannedSessions {
            pauses: self.pauses(session),
            session: session.clone(),
            arrivals,
            connection: written.connection.unwrap_or_default(),
            sessions: written.sessions.map(|sessions| sessions.0),
        };
        PlannedUsers { sessions: Some(sessions), active_share, ..PlannedUsers::default() }
    }

    /// A search for the number of users: what belongs to a search for a rate is refused.
    pub(super) fn search_of_users(&mut self, written: &Search) {
        if self.document.value(&["load", "users"]).is_none() {
            return;
        }
        if written.grow_clients {
            let message = "each user is a client: a search for users has no other clients".to_owned();
            self.document.wrong(&["load", "search", "grow_clients"], message, Some("leave it out"));
        }
        if !written.confirm.is_empty() {
            let message =
                "rates that change confirm a rate, and this search tries numbers of users".to_owned();
            self.document.wrong(&["load", "search", "confirm"], message, Some("leave it out"));
        }
        for (key, bound) in [("lowest", &written.lowest), ("highest", &written.highest)] {
            let is_whole = |bound: &Value| bound.as_integer().is_some_and(|number| number >= 1);
            let is_whole = |bound: &Value| {
                is_whole(bound) || bound.as_float().is_some_and(|n| n >= 1.0 && n.fract() == 0.0)
            };
            if bound.as_ref().is_some_and(|bound| !is_whole(bound)) {
                let message = "must be a whole number of users, at least 1".to_owned();
                self.document.wrong(&["load", "search", key], message, None);
            }
        }
        let varied = self.document.names(&["factors"]);
        if varied.iter().any(|name| name == "clients")
            && self.document.value(&["factors", "clients", "[1]"]).is_some()
        {
            let message = "a search for users tries the numbers itself".to_owned();
            let hint = "give one number, with which it begins, or leave it out";
            self.document.wrong(&["factors", "clients"], message, Some(hint));
        }
    }

    /// Users without a session: a pause after each transaction.
    fn pausing(&mut self, written: &Users) -> PlannedUsers {
        let own = ["arrivals", "connection", "sessions"];
        let given = own.into_iter().find(|key| self.document.value(&["load", "users", key]).is_some());
        if let Some(key) = given.filter(|_| !self.document.is_wrong(&PLACE)) {
            let message = format!("`load.users.{key}` needs a session");
            let hint = "add session = \"login.sql, 5s, order.sql\"";
            self.document.wrong_key(&["load", "users", key], message, Some(hint));
        }
        if written.think.is_none()
            && !["session", "think"].iter().any(|key| self.document.is_wrong(&["load", "users", key]))
        {
            let message = "users have a session, or a think time between transactions".to_owned();
            let hint = "users = { session = \"login.sql, 5s, order.sql\" }, or users = { think = \"1s\" }";
            self.document.wrong_key(&["load", "users"], message, Some(hint));
        }
        let seconds =
            |pause: Option<spec::experiment::Pause>| pause.map_or(0.0, |pause| pause.0.as_secs_f64());
        PlannedUsers {
            think_s: seconds(written.think),
            ramp_s: seconds(written.ramp),
            ..PlannedUsers::default()
        }
    }

    /// The observed pauses that a session names, by file.
    fn pauses(&mut self, session: &Session) -> BTreeMap<String, Vec<f64>> {
        let mut pauses = BTreeMap::new();
        for file in session.pause_files() {
            let path = self.folder().join(file);
            let read = match self.look {
                true => given::read(&path)
                    .map_err(|error| format!("cannot be read: {error}"))
                    .and_then(|bytes| read_pauses(&String::from_utf8_lossy(&bytes))),
                false => Ok(Vec::new()),
            };
            match read {
                Ok(read) => _ = pauses.insert(file.to_owned(), read),
                Err(problem) => {
                    self.document.wrong(
                        &PLACE,
                        format!("think times of {}: {problem}", path.display()),
                        None,
                    );
                }
            }
        }
        pauses
    }

    /// Each step of a session becomes a script of the workload, in the session's order.
    pub(super) fn scripts_of_session(
        &mut self,
        load: &LoadSpec,
        workloads: &[NamedWorkload],
    ) -> Vec<NamedWorkload> {
        let mut workloads = workloads.to_vec();
        let LoadKind::Users(PlannedUsers { sessions: Some(sessions), .. }) = &load.kind else {
            return workloads;
        };
        for workload in &mut workloads {
            if self.document.is_wrong(&["workload", &workload.name]) {
                continue;
            }
            let of_session = workload.spec.for_session(&sessions.session.steps());
            let opened = of_session.and_then(|spec| {
                if self.look {
                    spec.open(self.folder())?;
                }
                Ok(spec)
            });
            match opened {
                Ok(spec) => workload.spec = spec,
                Err(error) => {
                    let hint = error.hint().map(str::to_owned);
                    let message = format!("the session cannot run workload {}: {error}", workload.name);
                    self.document.wrong(&PLACE, message, hint.as_deref());
                }
            }
        }
        workloads
    }
}
