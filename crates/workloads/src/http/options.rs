//! What a user may write about HTTP.

use std::path::PathBuf;

use protocol::http::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Error;

use crate::error;
use crate::jobs::file_name;

/// `http = { url = "http://127.0.0.1:3000/{z}/{x}/{y}", tiles = "list.txt" }`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpOptions {
    /// `http://` or `https://` URL. It may have the placeholders `{z}`, `{x}` and `{y}` (or `{-y}`, rows counted from
    /// the south). A user and password in it are shown nowhere.
    pub url: String,
    /// The tiles for the placeholders: a file of `z/x/y` lines, or a web server's access log. Each zoom then has its
    /// own figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<PathBuf>,
    /// Expected content types, such as `["image/png"]`. Default: anything but HTML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// HTTP statuses that mean an empty answer, such as `[404]`; 204 always does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty_status: Vec<u16>,
    /// Ask for compressed bodies.
    #[serde(default = "yes")]
    pub gzip: bool,
    /// Reuse connections; else each request connects again, which is part of its time.
    #[serde(default = "yes")]
    pub keepalive: bool,
    /// Accept any certificate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Runs are valid even if every body is empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
}

fn yes() -> bool {
    true
}

impl HttpOptions {
    /// The defaults for this URL.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            tiles: None,
            accept: Vec::new(),
            empty_status: Vec::new(),
            gzip: true,
            keepalive: true,
            insecure: false,
            may_be_empty: false,
        }
    }

    /// The parsed URL.
    pub fn parsed(&self) -> Result<Url, Error> {
        Url::parse(&self.url).map_err(|error| error::option("http.url", error.to_string()))
    }

    /// Checks that each option is within its range, and that they go together.
    pub fn validate(&self) -> Result<(), Error> {
        let url = self.parsed()?;
        let wrong = |key: &str, problem: String| Err(error::option(format!("http.{key}"), problem));
        match (&self.tiles, url.has_places()) {
            (None, true) => {
                let problem = "is missing: the URL has places for tiles; name a file with one z/x/y a line, or an access log";
                return wrong("tiles", problem.to_owned());
            }
            (Some(_), false) => {
                let problem = "has no use: the URL has no places for them; write {z}/{x}/{y} into it";
                return wrong("tiles", problem.to_owned());
            }
            _ => {}
        }
        if let Some(word) = self.accept.iter().find(|word| !is_type(word)) {
            return wrong(
                "accept",
                format!("invalid content type {word:?}; write e.g. image/png or image/*"),
            );
        }
        if let Some(problem) = empty_status_problem(&self.empty_status) {
            return wrong("empty_status", problem);
        }
        if self.insecure && !url.is_secure() {
            return wrong("insecure", "has no use: the URL is not https".to_owned());
        }
        Ok(())
    }

    /// The options without the file's folder, and without user and password.
    pub(crate) fn portable(&self) -> Self {
        Self {
            url: self.shown(),
            tiles: self.tiles.as_deref().map(|path| file_name(path).into()),
            ..self.clone()
        }
    }

    /// The URL without user and password.
    fn shown(&self) -> String {
        // An invalid URL may contain anything.
        Url::parse(&self.url).map_or_else(|_| String::new(), |url| url.to_string())
    }
}

/// Without user and password.
impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tiles, accept, empty_status, gzip, keepalive, insecure, may_be_empty, .. } = self;
        formatter
            .debug_struct("Options")
            .field("url", &self.shown())
            .field("tiles", tiles)
            .field("accept", accept)
            .field("empty_status", empty_status)
            .field("gzip", gzip)
            .field("keepalive", keepalive)
            .field("insecure", insecure)
            .field("may_be_empty", may_be_empty)
            .finish()
    }
}

/// Why these statuses cannot mean an empty answer.
pub(crate) fn empty_status_problem(statuses: &[u16]) -> Option<String> {
    let wrong = statuses.iter().find(|status| **status != 204 && !(400..=499).contains(*status))?;
    Some(format!("{wrong} is not a status of a missing tile; write e.g. 404, or 204 and 404"))
}

fn is_type(word: &str) -> bool {
    let part = |text: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-*".contains(&byte);
        !text.is_empty() && text.bytes().all(good)
    };
    word.split_once('/').is_some_and(|(kind, name)| part(kind) && part(name))
}
