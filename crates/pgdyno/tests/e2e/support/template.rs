//! Servers that are made once and whose files are copied for each test.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A stopped server that exists while a test uses it.
pub struct Template<T>(Mutex<Weak<T>>);

impl<T> Template<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    /// The first test that needs it makes it.
    pub fn get(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let made = Arc::new(make());
            *known = Arc::downgrade(&made);
            made
        })
    }
}

/// `cp -a`, which keeps owners and modes.
pub fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp");
    assert!(copied.success(), "{} was not copied", from.display());
}
