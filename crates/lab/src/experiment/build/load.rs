//! The shape of the load, and the search for a limit.

use spec::{AskedLimit, Profile};
use toml::Value;

use super::Builder;
use crate::experiment::factors::Factors;
use crate::experiment::model::{LoadKind, LoadSpec};
use crate::factors::{LevelNames, factor};
use crate::promise;
use spec::experiment::{self as written, ValueList};

/// Default width between the bounds of a limit, as a share.
const WIDTH: f64 = 0.03;
/// The same of users: each trial needs several of their sessions, and nobody plans for 3 % more users.
const WIDTH_OF_USERS: f64 = 0.1;
/// Least width between the bounds of a limit, as a share: trials cannot resolve less.
const LEAST_WIDTH: f64 = 0.005;
const MOST_WIDTH: f64 = 0.5;
/// A load may exceed the limit, up to this factor.
const MOST_SHARE: f64 = 10.0;
/// First number of users of a search.
const FIRST_USERS: u32 = 10;
const CONFIRM: &str = "confirm = [\"ramp 0.5..1 over 10s\", \"spike 0.5 to 1 for 2s at 5s\"]";

impl Builder<'_, '_> {
    pub(super) fn load(&mut self, written: &written::LoadShape, factors: &mut Factors) -> LoadSpec {
        let why = "load is either offered on a schedule or by users that pause";
        self.document.exclusive("load", ["rate", "users"], why);
        self.document.exclusive("load", ["promise", "limit"], "`limit` is the former name of `promise`");
        let varied = self.document.names(&["factors"]);
        let ladder =
            ["rate", "rate_per_client"].into_iter().find(|key| varied.iter().any(|name| name == key));
        let other = if written.rate.is_some() { "rate" } else { "users" };
        if let Some(ladder) = ladder.filter(|_| self.document.value(&["load", other]).is_some()) {
            let message = format!("`load.{other}` and [factors] {ladder} cannot be combined");
            self.document.wrong(&["load", other], message, None);
        }
        if written.promise.is_some() && varied.iter().any(|name| name == "promise") {
            let message = "`load.promise` and [factors] promise cannot be combined".to_owned();
            self.document.wrong(&["load", "promise"], message, None);
        }
        if let Some(rate) = &written.rate {
            self.vary(factors, &["load", "rate"], &ValueList(vec![rate.clone()]), &LevelNames::default());
        }
        let kind = match &written.users {
            _ if ladder.is_some() || written.rate.is_some() => LoadKind::Rate,
            Some(users) => LoadKind::Users(self.users(users)),
            None => LoadKind::Closed,
        };
        let search = written.search.as_ref().map(|search| self.search(search, factors));
        LoadSpec {
            kind,
            promise: written.promise.or(written.limit).map(|promise| promise.0),
            bound: written.bound.map(|bound| bound.0),
            search,
        }
    }

    pub(super) fn search(&mut self, written: &written::Search, factors: &Factors) -> AskedLimit {
        let first = self
            .document
            .value(&["factors", "clients"])
            .and_then(|_| factors.levels("clients").first()?.parse().ok());
        let users = self.document.value(&["load", "users"]).map(|_| first.unwrap_or(FIRST_USERS));
        self.search_of_users(written);
        for other in ["rate", "promise", "limit"] {
            let why = "a search chooses its rates, and has its own promise";
            self.document.exclusive("load", ["search", other], why);
        }
        if self.document.value(&["beside"]).is_some() {
            let message = "`[beside]` and `load.search` cannot be combined: a search has no rounds beside which it could run".to_owned();
            self.document.wrong(&["beside"], message, None);
        }
        let varied = self.document.names(&["factors"]);
        for other in
            ["rate", "rate_per_client", "promise"].iter().filter(|key| varied.iter().any(|name| name == *key))
        {
            let message = format!(
                "[factors] {other} and `load.search` cannot be combined: a search chooses its rates, and has its own promise"
            );
            self.document.wrong(&["factors", other], message, None);
        }
        let bound = |this: &mut Self, key: &str, value: &Option<Value>| {
            let read =
                factor("rate", &LevelNames::default())?.read("rate", value.as_ref()?, &LevelNames::default());
            let read = read.and_then(|rate| {
                rate.parse::<f64>().map_err(|_| "must be a number, and no rate that changes".to_owned())
            });
            this.noted(&["load", "search", key], read)
        };
        let (lowest, highest) =
            (bound(self, "lowest", &written.lowest), bound(self, "highest", &written.highest));
        if let Some((lowest, highest)) = lowest.zip(highest).filter(|(lowest, highest)| lowest >= highest) {
            let message =
                format!("the bounds are the wrong way round: lowest is {lowest}, highest is {highest}");
            self.document.wrong(&["load", "search", "lowest"], message, None);
        }
        let usual = if users.is_some() { WIDTH_OF_USERS } else { WIDTH };
        let width = written.width.map_or(usual, |width| width.0);
        if !(LEAST_WIDTH..=MOST_WIDTH).contains(&width) {
            let message = "must be from 0.5% to 50%".to_owned();
            self.document.wrong(&["load", "search", "width"], message, Some("width = \"3%\""));
        }
        let place = ["load", "search", "promise"];
        AskedLimit {
            promise: self.noted(&place, promise::parse(&written.promise)).unwrap_or_default(),
            lowest,
            highest,
            width,
            grow_clients: written.grow_clients,
            users,
            confirm: self.shapes(&written.confirm),
        }
    }

    pub(super) fn shapes(&mut self, written: &[String]) -> Vec<Profile> {
        let mut shapes = Vec::new();
        for text in written {
            let shape = match text.parse::<Profile>() {
                Ok(shape) if shape.is_constant() => {
                    Err("must be rates that change, in shares of the limit".to_owned())
                }
                Ok(shape) if shape.greatest() > MOST_SHARE => {
                    Err(format!("goes up to {MOST_SHARE} times the limit, and \"{text}\" is more"))
                }
                Ok(shape) if shapes.contains(&shape) => Err(format!("has \"{text}\" twice")),
                Ok(shape) => Ok(shape),
                Err(error) => Err(error.what().to_owned()),
            };
            match shape {
                Ok(shape) => shapes.push(shape),
                Err(message) => self.document.wrong(&["load", "search", "confirm"], message, Some(CONFIRM)),
            }
        }
        shapes
    }
}
