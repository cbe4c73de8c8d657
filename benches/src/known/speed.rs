//! How fast the server is at a time: a factor in a file that its statements read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::queue::Chance;

/// What happens to the server meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    None,
    /// For the length of a trial, one time in ten, it is three times as slow.
    Bad,
    /// Once, for the length of three trials, it does 0.6 of its work.
    Slow,
}

impl Disturbance {
    pub(super) const ALL: [Self; 3] = [Self::None, Self::Bad, Self::Slow];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "no",
            Self::Bad => "a tenth of the time bad",
            Self::Slow => "slowed down for three trials",
        }
    }

    /// How many times as long everything takes in the so-manieth stretch of a trial's length, from 0.
    fn factor(self, stretch: u32, begins: u32, chance: &mut Chance) -> f64 {
        match self {
            Self::Bad if chance.uniform() < 0.1 => 3.0,
            Self::Slow if (begins..begins + 3).contains(&stretch) => 1.0 / 0.6,
            _ => 1.0,
        }
    }
}

/// The file that says how many times as long everything takes.
pub(super) struct Speed {
    file: PathBuf,
}

/// A server under disturbance; let be when this goes.
pub(super) struct Disturbed {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Speed {
    /// In a folder that the server's account can read.
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join("factor");
        std::fs::write(&file, "1")?;
        Ok(Self { file })
    }

    /// A script that keeps its connection busy for so many seconds, as SQL.
    pub(super) fn script(&self, seconds: &str) -> String {
        format!("SELECT pg_sleep(({seconds}) * pg_read_file('{}')::float8), 1;\n", self.file.display())
    }

    /// Disturbs the server until the value goes; stretches are so many seconds long.
    pub(super) fn disturb(&self, how: Disturbance, stretch_s: f64, seed: u64) -> Disturbed {
        let (over, file) = (Arc::new(AtomicBool::new(false)), self.file.clone());
        let stop = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut chance = Chance(seed + 1);
            let begins = (12.0 * chance.uniform()) as u32;
            for stretch in 0.. {
                // Never empty: a statement that reads it then fails.
                let next = file.with_extension("next");
                let written = std::fs::write(&next, how.factor(stretch, begins, &mut chance).to_string());
                let _ = written.and_then(|()| std::fs::rename(&next, &file));
                let ticks = (stretch_s * 20.0) as u32;
                for _ in 0..ticks {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        });
        Disturbed { over, thread: Some(thread) }
    }
}

impl Drop for Disturbed {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
