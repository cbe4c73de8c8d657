//! Requests as plain data, written before the run: what is sent costs no more than a copy.

use std::ops::Range;

use script::Random;

use crate::views::{Views, Visit};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its bytes among all.
    place: Range<usize>,
    /// Which script it is counted under.
    pub script: u16,
    /// Which item of its workload's list it asks for, where figures of each are kept.
    pub item: Option<u32>,
}

/// What clients ask for: groups that are drawn from by their weights, however many requests each has; or sessions of views.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Requests {
    bytes: Vec<u8>,
    /// None of them is empty, but the last one at times.
    groups: Vec<Vec<Request>>,
    /// Sum of the weights up to each group.
    up_to: Vec<u64>,
    /// Sessions, in place of groups.
    views: Views<Request>,
}

/// The weight of groups that are drawn from equally often.
const EQUAL: u64 = 1;

impl Requests {
    /// None at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins another group; what is added from now on belongs to it.
    pub fn group(&mut self) {
        self.weighted_group(EQUAL);
    }

    /// The same with its own weight; all of them together stay below 2^63.
    pub fn weighted_group(&mut self, weight: u64) {
        if self.groups.last().is_some_and(Vec::is_empty) {
            self.groups.pop();
            self.up_to.pop();
        }
        let before = self.up_to.last().copied().unwrap_or(0);
        self.up_to.push(before + weight.max(1));
        self.groups.push(Vec::new());
    }

    /// Adds a request to the last group; `write` appends its bytes.
    pub fn add(&mut self, script: u16, item: Option<u32>, write: impl FnOnce(&mut Vec<u8>)) {
        let request = self.written(script, item, write);
        self.push(request);
    }

    /// Adds a request that is written to the last group.
    pub fn push(&mut self, request: Request) {
        if self.groups.is_empty() {
            self.group();
        }
        self.groups.last_mut().expect("there is a group").push(request);
    }

    /// Writes a request that is asked for where it is put: [`Requests::push`], [`Requests::session`].
    pub fn written(&mut self, script: u16, item: Option<u32>, write: impl FnOnce(&mut Vec<u8>)) -> Request {
        let start = self.bytes.len();
        write(&mut self.bytes);
        Request { place: start..self.bytes.len(), script, item }
    }

    /// Adds a session: views one after another, the requests of a view at once. Views of none are left out.
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

    /// All of them, group by group, then session by session.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.groups.iter().flatten().chain(self.views.sessions().flatten().flatten())
    }

    /// What is sent for one of them. It may hold a password.
    #[must_use]
    pub fn bytes(&self, request: &Request) -> &[u8] {
        &self.bytes[request.place.clone()]
    }

    /// What a client asks for at once: its next view, or one request of a group; nothing where there is none.
    #[inline]
    pub(super) fn next(&self, random: &mut Random, visit: &mut Visit) -> &[Request] {
        if !self.views.is_empty() {
            return self.views.next(random, visit);
        }
        self.draw(random).map(std::slice::from_ref).unwrap_or_default()
    }

    /// A group by its weight, then one of it, each as likely as another; `None` where there are none.
    #[inline]
    fn draw(&self, random: &mut Random) -> Option<&Request> {
        let filled = self.groups.len() - usize::from(self.groups.last().is_some_and(Vec::is_empty));
        let group = match filled {
            0 => return None,
            1 => &self.groups[0],
            _ => {
                let number = random.up_to(self.up_to[filled - 1] - 1);
                &self.groups[self.up_to[..filled].partition_point(|up_to| *up_to <= number)]
            }
        };
        group.get(random.up_to(group.len().saturating_sub(1) as u64) as usize)
    }
}

/// Without what may be a password.
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
        assert_eq!(requests.draw(&mut Random::new(1)), None);
        requests.add(0, Some(7), |out| out.extend(b"one"));
        requests.group();
        requests.group();
        for item in 0..9 {
            requests.add(1, Some(item), |out| out.extend(format!("other {item}").bytes()));
        }
        requests.group();
        assert_eq!((requests.len(), requests.is_empty()), (10, false));
        let mut random = Random::new(1);
        let drawn: Vec<_> = (0..1000).map(|_| requests.draw(&mut random).unwrap().clone()).collect();
        let ones = drawn.iter().filter(|request| request.script == 0).count();
        assert!((400..600).contains(&ones), "{ones}");
        assert!(drawn.iter().all(|request| match request.script {
            0 => requests.bytes(request) == b"one",
            _ => requests.bytes(request) == format!("other {}", request.item.unwrap()).as_bytes(),
        }));
        assert!((0..9).all(|item| drawn.iter().any(|request| request.item == Some(item))));
    }
}
