//! Arguments of users as a load, the same in `bench`, `limit` and `ladder`.

use std::collections::BTreeMap;

use spec::experiment::{Share, Users, Whole};
use spec::users::{PlannedSessions, Session, UserArrivals, UserConnection, UsersError};

use super::{of_option, usage_with};
use crate::exit::{CommandFailure, USAGE};

/// Users as a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Users")]
pub(crate) struct UserArgs {
    /// Each client is a user who does sessions: scripts with think times, such as 'login.sql, 5s, search.sql x3, 2s,
    /// order.sql'. Think times are 5s, exp(5s), lognormal(5s, 0.5) or file(pauses.txt)
    #[arg(long, value_name = "SESSION")]
    pub(super) users: Option<String>,
    /// When users come: '0.5s apart', together, 'up 60s, hold 300s, down 60s', a share over time such as 'ramp 0..1
    /// over 60s', or new users for one session each, such as '12 per minute' [default: evenly over the warm-up]
    #[arg(long, value_name = "WHEN", requires = "users", allow_hyphen_values = true)]
    pub(super) arrivals: Option<String>,
    /// Share of registered people who are active at a time, in percent: prints their number, too
    #[arg(long, value_name = "PCT", requires = "users", allow_negative_numbers = true)]
    pub(super) active_share: Option<String>,
}

/// Users as they were given, read.
#[derive(Debug, Clone)]
pub(in crate::commands) struct GivenUsers {
    session: Session,
    arrivals: Option<UserArrivals>,
    active_share: Option<f64>,
}

impl UserArgs {
    /// Whether clients are users.
    pub(in crate::commands) fn is_asked(&self) -> bool {
        self.users.is_some()
    }

    /// Reads the session and what belongs to it; `None` without users.
    ///
    /// # Errors
    /// What is wrong with a text, and where.
    pub(in crate::commands) fn given(&self) -> anyhow::Result<Option<GivenUsers>> {
        let Some(text) = &self.users else { return Ok(None) };
        let wrong = |option: &str, error: UsersError| {
            CommandFailure::with_code(USAGE, of_option(option, error.what()), Some(error.advice().to_owned()))
        };
        let session = text.parse::<Session>().map_err(|error| wrong("--users", error))?;
        let arrivals = self.arrivals.as_deref().map(str::parse::<UserArrivals>).transpose();
        let arrivals = arrivals.map_err(|error| wrong("--arrivals", error))?;
        let active_share = self.active_share.as_deref().map(active_share).transpose()?;
        Ok(Some(GivenUsers { session, arrivals, active_share }))
    }
}

fn active_share(text: &str) -> anyhow::Result<f64> {
    let percent = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0);
    percent.ok_or_else(|| {
        usage_with("--active-share must be above 0 and at most 100 (percent)", "--active-share 5%")
    })
}

impl GivenUsers {
    /// The names of its scripts, each once, in the order of the session.
    pub(in crate::commands) fn scripts(&self) -> Vec<&str> {
        let mut scripts = self.session.steps();
        let mut seen = std::collections::BTreeSet::new();
        scripts.retain(|step| seen.insert(*step));
        scripts
    }

    /// The table `load.users`; `path` gives the path of a file as the experiment has it.
    pub(in crate::commands) fn table(
        &self,
        path: &dyn Fn(&str) -> String,
        sessions: Option<u64>,
        connect: bool,
    ) -> Users {
        let script = |name: &str| if is_builtin(name) { name.to_owned() } else { path(name) };
        Users {
            session: Some(self.session.renamed(&script, &|file| path(file))),
            arrivals: self.arrivals.clone(),
            connection: connect.then_some(UserConnection::Session),
            sessions: sessions.map(Whole::new),
            active_share: self.active_share.map(Share::percent),
            ..Users::default()
        }
    }

    /// When users come.
    pub(in crate::commands) fn arrivals(&self) -> UserArrivals {
        self.arrivals.clone().unwrap_or_default()
    }

    /// The warm-up of `bench` if none was given, seconds. Users who come openly become more and more until the first
    /// ones leave, so it is twice the mean think time of a session, at most the duration; others come at its start.
    pub(in crate::commands) fn warmup_s(&self, duration_s: f64) -> f64 {
        if self.arrivals().open_per_s().is_none() {
            return 0.0;
        }
        // Pauses of files are not read here.
        let sessions = PlannedSessions {
            session: self.session.clone(),
            pauses: BTreeMap::new(),
            arrivals: UserArrivals::default(),
            connection: UserConnection::default(),
            sessions: None,
        };
        (2.0 * sessions.mean_think_s().iter().sum::<f64>()).min(duration_s)
    }

    /// Share of the registered people who are active at a time (0..=1).
    pub(in crate::commands) fn active_share(&self) -> Option<f64> {
        self.active_share.map(|percent| percent / 100.0)
    }

    /// Whether users come and go for a time, and not for a number of sessions.
    pub(in crate::commands) fn need_duration(&self) -> bool {
        self.arrivals.as_ref().is_some_and(UserArrivals::need_duration)
    }
}

/// Whether a step is a built-in script and no file.
pub(super) fn is_builtin(step: &str) -> bool {
    script::BUILTINS.iter().any(|builtin| builtin.name == step)
}
