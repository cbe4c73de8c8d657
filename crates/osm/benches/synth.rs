//! How fast extracts are made, in nodes a second.

use std::io::sink;
use std::num::NonZeroUsize;

use divan::Bencher;
use divan::counter::ItemsCount;
use osm::synth::{Options, write};

fn main() {
    divan::main();
}

/// By threads, at a scale of 1; items are nodes. As a test it is made small.
#[divan::bench(args = [1, 2], sample_size = 1, sample_count = 10)]
fn extract(bencher: Bencher<'_, '_>, threads: usize) {
    let scale = if cfg!(debug_assertions) { "0.01" } else { "1" };
    let threads = NonZeroUsize::new(threads).expect("from the list above");
    let options = Options { scale: scale.parse().expect("a scale"), seed: 7, threads };
    let made = write(&options, &mut sink(), &mut |_| (), &|| false).expect("a sink takes all");
    bencher
        .counter(ItemsCount::new(made.nodes))
        .bench(|| write(&options, &mut sink(), &mut |_| (), &|| false).expect("a sink takes all"));
}
