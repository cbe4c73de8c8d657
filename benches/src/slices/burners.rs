//! Programs that compete for the CPUs: a busy host.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Memory that each of them goes through, so that they take caches as well.
const BURNED_BYTES: usize = 8 << 20;

/// Threads that keep CPUs busy until this value is dropped.
pub(super) struct Burners {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Burners {
    pub(super) fn start(count: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let burn = |stop: Arc<AtomicBool>| {
            move || {
                let mut memory = vec![1_u64; BURNED_BYTES / 8];
                while !stop.load(Ordering::Relaxed) {
                    memory.iter_mut().for_each(|word| *word = word.rotate_left(7).wrapping_mul(31));
                    black_box(&memory);
                }
            }
        };
        let threads = (0..count).map(|_| std::thread::spawn(burn(Arc::clone(&stop)))).collect();
        Self { stop, threads }
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burners_end() {
        drop(Burners::start(2));
    }
}
