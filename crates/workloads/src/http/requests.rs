//! Requests prepared before the run: sending one costs only a copy.

use std::ops::Range;

use script::Random;

use crate::drawn::Drawn;
use crate::views::{Views, Visit, are_equal};

/// A request: where its bytes are, and the script that it counts under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its bytes in the buffer of all requests.
    place: Range<usize>,
    /// The script it counts under.
    pub script: u16,
    /// The item it requests, where figures of each are kept.
    pub item: Option<u32>,
}

/// The requests of a run: groups in turns by their weights, whatever their sizes; or sessions of views.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Requests {
    bytes: Vec<u8>,
    /// Not empty, except for the last one at times.
    groups: Vec<Drawn<Request>>,
    /// Cumulative weights of the groups.
    up_to: Vec<u64>,
    /// Whether groups have different weights.
    is_weighted: bool,
    /// Sessions, instead of groups.
    views: Views<Request>,
}

/// Weight of groups without an explicit one.
const EQUAL: u64 = 1;

impl Requests {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts another group for the requests added next.
    pub fn group(&mut self) {
        self.weighted_group(EQUAL);
    }

    /// As [`Self::group`], with a weight; their sum stays below 2^63.
    pub fn weighted_group(&mut self, weight: u64) {
        if self.groups.last().is_some_and(Drawn::is_empty) {
            self.groups.pop();
            self.up_to.pop();
        }
        let before = self.up_to.last().copied().unwrap_or(0);
        let first = self.up_to.first().copied().unwrap_or(weight.max(1));
        self.is_weighted |= !are_equal([first, weight.max(1)]);
        self.up_to.push(before + weight.max(1));
        self.groups.push(Drawn::default());
    }

    /// Adds a request to the last group; `write` appends its bytes.
    pub fn add(&mut self, script: u16, item: Option<u32>, write: impl FnOnce(&mut Vec<u8>)) {
        let request = self.written(script, item, write);
        self.push(request, EQUAL);
    }

    /// Adds a prepared request to the last group, in which it has this weight.
    pub fn push(&mut self, request: Request, weight: u64) {
        if self.groups.is_empty() {
            self.group();
        }
        self.groups.last_mut().expect("there is a group").push(request, weight);
    }

    /// Prepares a request for [`Requests::push`] or [`Requests::session`].
    pub fn written(&mut self, script: u16, item: Option<u32>, write: impl FnOnce(&mut Vec<u8>)) -> Request {
        let start = self.bytes.len();
        write(&mut self.bytes);
        Request { place: start..self.bytes.len(), script, item }
    }

    /// Adds a session: views in succession, the requests of a view at once. Empty views are left out.
    pub fn session(&mut self, mut views: Vec<Vec<Request>>) {
        views.retain(|view| !view.is_empty());
        if !views.is_empty() {
            self.views.add(views);
        }
    }

    /// Number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// All requests, group by group, then session by session.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.groups.iter().flat_map(Drawn::items).chain(self.views.sessions().flatten().flatten())
    }

    /// The bytes of a request. They may contain a password.
    #[must_use]
    pub fn bytes(&self, request: &Request) -> &[u8] {
        &self.bytes[request.place.clone()]
    }

    /// A client's next requests: its next view, or one request of a group; empty where there is none.
    #[inline]
    pub(super) fn next(&self, random: &mut Random, visit: &mut Visit) -> &[Request] {
        if !self.views.is_empty() {
            return self.views.next(random, visit);
        }
        self.draw(random, visit)
    }

    /// Takes a group by its weight, evenly spread, then draws a request in it by its own; empty where there are none.
    #[inline]
    fn draw(&self, random: &mut Random, visit: &mut Visit) -> &[Request] {
        let filled = self.groups.len() - usize::from(self.groups.last().is_some_and(Drawn::is_empty));
        let group = match filled {
            0 => return &[],
            1 => &self.groups[0],
            _ if !self.is_weighted => &self.groups[visit.next_of(random, filled as u64) as usize],
            _ => {
                let number = visit.spread(random, self.up_to[filled - 1]);
                &self.groups[self.up_to[..filled].partition_point(|up_to| *up_to <= number)]
            }
        };
        group.draw(random)
    }
}

/// Without bytes, which may contain a password.
impl std::fmt::Debug for Requests {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Requests").field("count", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_drawn_from_equally_often() {
        let mut requests = Requests::new();
        assert!(requests.draw(&mut Random::new(1), &mut Visit::default()).is_empty());
        requests.add(0, Some(7), |out| out.extend(b"one"));
        requests.group();
        requests.group();
        for item in 0..9 {
            requests.add(1, Some(item), |out| out.extend(format!("other {item}").bytes()));
        }
        requests.group();
        assert_eq!((requests.len(), requests.is_empty()), (10, false));
        let (mut random, mut visit) = (Random::new(1), Visit::default());
        let drawn: Vec<_> = (0..1000).map(|_| requests.draw(&mut random, &mut visit)[0].clone()).collect();
        let ones = drawn.iter().filter(|request| request.script == 0).count();
        assert!((495..=505).contains(&ones), "{ones}");
        assert!(drawn.iter().all(|request| match request.script {
            0 => requests.bytes(request) == b"one",
            _ => requests.bytes(request) == format!("other {}", request.item.unwrap()).as_bytes(),
        }));
        assert!((0..9).all(|item| drawn.iter().any(|request| request.item == Some(item))));
    }
}
