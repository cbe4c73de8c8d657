//! What the checks of a workload looked at, and what they did not.

use std::cell::RefCell;
use std::time::Duration;

use workloads::CheckNote;

use crate::event::{LabEvent, Progress};

/// Parts that a sentence names.
const NAMED: usize = 24;

/// Prints what was looked at as it happens, and keeps the rest.
pub(crate) struct Checked<'p> {
    progress: RefCell<&'p mut dyn Progress>,
    not_looked: RefCell<Vec<String>>,
}

impl<'p> Checked<'p> {
    pub(crate) fn new(progress: &'p mut dyn Progress) -> Self {
        Self { progress: RefCell::new(progress), not_looked: RefCell::default() }
    }

    pub(crate) fn hear(&self, note: CheckNote) {
        match note {
            CheckNote::Looked(text) => self.progress.borrow_mut().event(LabEvent::Note { text }),
            CheckNote::NotLooked(what) => self.not_looked.borrow_mut().push(what),
        }
    }

    /// What was not `done` (a participle) with the time that was given, as a sentence; `None` if nothing is missing.
    pub(crate) fn not_looked_words(&self, done: &str, given: Duration) -> Option<String> {
        let parts = self.not_looked.borrow();
        let named: Vec<&str> = parts.iter().take(NAMED).map(String::as_str).collect();
        let more = parts.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let given_s = given.as_secs_f64();
        (!parts.is_empty()).then(|| {
            format!(
                "not {done} within {given_s} s (measure.check_time, --check-time), or too large: {}{more}",
                named.join("; ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_is_printed_and_the_rest_is_named_once() {
        let mut notes = Vec::new();
        let mut progress = |event| {
            if let LabEvent::Note { text } = event {
                notes.push(text);
            }
        };
        let checked = Checked::new(&mut progress);
        let ten = Duration::from_secs(10);
        assert_eq!(checked.not_looked_words("checked", ten), None);
        checked.hear(CheckNote::Looked("poi, z3: 16 tiles".into()));
        for zoom in (0..30).rev() {
            checked.hear(CheckNote::NotLooked(format!("poi, z{zoom}")));
        }
        let words = checked.not_looked_words("checked", ten).unwrap();
        assert!(words.starts_with("not checked within 10 s (measure.check_time, --check-time), or too large: poi, z29; poi, z28; "), "{words}");
        assert!(words.ends_with("; poi, z6 and 6 more"), "{words}");
        drop(checked);
        assert_eq!(notes, ["poi, z3: 16 tiles"]);
    }
}
