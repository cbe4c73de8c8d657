//! Merges the threads' seconds in order and adds them up.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use crate::measured::{ScriptFigures, Second};
use crate::observer::Observer;

/// What the histograms of a script's totals may take unpacked, each. Packing takes microseconds.
const TOTAL_BYTES: usize = 2048;

pub(super) struct Merge {
    totals: Vec<ScriptFigures>,
    /// By start; with the thread that gets the memory back.
    pending: BTreeMap<i64, (usize, Box<Second>)>,
    /// Start of each thread's last second; `i64::MAX` once it has finished.
    latest: Vec<i64>,
    recycle: Vec<Sender<Box<Second>>>,
}

impl Merge {
    pub(super) fn new(scripts: usize, recycle: Vec<Sender<Box<Second>>>) -> Self {
        Self {
            totals: vec![ScriptFigures::default(); scripts],
            pending: BTreeMap::new(),
            latest: vec![i64::MIN; recycle.len()],
            recycle,
        }
    }

    /// Takes one thread's second; passes on the seconds that all threads have completed.
    pub(super) fn take(&mut self, thread: usize, second: Box<Second>, observer: &mut dyn Observer) {
        self.latest[thread] = second.start_ns;
        match self.pending.get_mut(&second.start_ns) {
            Some((_, sum)) => {
                sum.add(&second);
                self.give_back(thread, second);
            }
            None => drop(self.pending.insert(second.start_ns, (thread, second))),
        }
        self.pass_on(observer);
    }

    /// The thread sends no more seconds.
    pub(super) fn finished(&mut self, thread: usize, observer: &mut dyn Observer) {
        self.latest[thread] = i64::MAX;
        self.pass_on(observer);
    }

    /// The totals of the measured part, per script; a further part begins without any.
    pub(super) fn take_totals(&mut self, observer: &mut dyn Observer) -> Vec<ScriptFigures> {
        self.latest.fill(i64::MAX);
        self.pass_on(observer);
        self.latest.fill(i64::MIN);
        let none = vec![ScriptFigures::default(); self.totals.len()];
        std::mem::replace(&mut self.totals, none)
    }

    fn pass_on(&mut self, observer: &mut dyn Observer) {
        let passed = self.latest.iter().copied().min().unwrap_or(i64::MAX);
        while let Some(entry) = self.pending.first_entry().filter(|entry| *entry.key() <= passed) {
            let (thread, second) = entry.remove();
            observer.second(&second);
            if second.start_ns >= 0 {
                for (total, part) in self.totals.iter_mut().zip(&second.scripts) {
                    total.add(part);
                    total.shrink_beyond(TOTAL_BYTES);
                }
            }
            self.give_back(thread, second);
        }
    }

    fn give_back(&mut self, thread: usize, mut second: Box<Second>) {
        second.clear();
        // A thread that has ended does not need it.
        let _ = self.recycle[thread].send(second);
    }
}
