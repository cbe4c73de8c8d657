//! Notable events of a run.

use engine::EngineResult;
use spec::RunEvent;
use spec::figures::{self, Figure, Figures};

use crate::words::count;

fn not_kept(number: u64, noun: &str) -> String {
    format!(
        "{} {} not kept",
        count(number as usize, &format!("more {noun}")),
        if number == 1 { "was" } else { "were" }
    )
}

/// Bytes of WAL above which a run counts as writing.
const WRITES: f64 = 1e6;

pub(super) fn events(measured: &EngineResult, figures: &Figures) -> Vec<RunEvent> {
    let mut events = Vec::new();
    for outage in &measured.outages {
        let seconds = (outage.to_ns - outage.from_ns) as f64 / 1e9;
        let were = if outage.clients == 1 { "was" } else { "were" };
        let end = if outage.over { "" } else { ", up to the end of the run" };
        let detail = format!(
            "{} {were} without a connection for {seconds:.3} s in all{end}",
            count(outage.clients as usize, "client")
        );
        events.push(RunEvent { time_us: outage.from_ns / 1000, kind: "outage".to_owned(), detail });
    }
    let mut add = |kind: &str, detail: String| {
        events.push(RunEvent { time_us: 0, kind: kind.to_owned(), detail });
    };
    if measured.outages_dropped > 0 {
        add("outage", not_kept(measured.outages_dropped, "outage"));
    }
    if measured.spin > 0 {
        let us = measured.spin / 1000;
        add("placement", format!("client threads looked for news for up to {us} µs before they slept"));
    }
    for abort in &measured.aborts {
        add(RunEvent::ABORT, format!("client {}: {abort}", abort.client));
    }
    for message in &measured.messages {
        add("notice", message.clone());
    }
    if measured.messages_dropped > 0 {
        add("notice", not_kept(measured.messages_dropped, "message"));
    }
    let figure = |of: Figure| figures.get(of).unwrap_or(0.0);
    if figure(figures::WAL_BYTES) > WRITES && figure(figures::CHECKPOINTS) == 0.0 {
        let written = spec::bytes(figure(figures::WAL_BYTES) as u64);
        add(
            "no checkpoint",
            format!(
                "{written} of WAL were written and no checkpoint fell into the run: its cost is not in the figures"
            ),
        );
    }
    events
}
