//! The wake-up lag of this host: known from a calibration, else measured for a second before the first run
//! with a scheduled load.

use std::time::Duration;

use server::host;
use spec::{Error, Run};

use crate::known_host::{KnownHost, Lag};
use crate::measure::Keep;
use crate::plan::calibration::{Operation, nothing_to_do};
use crate::runner::{ProgressExt, Ready, RunSteps, Runner};
use crate::strategies::calibration::{disturbed, lag_us};

/// Tries with nothing to do; the better one counts, since a disturbance is not a limit of the host.
const TRIES: u32 = 2;
const TIME: Duration = Duration::from_secs(1);

/// Judges schedules by the lag of this host. It is measured and stored if unknown; without it, the fixed
/// limits of the rules apply.
pub(crate) fn judge_by_host(runner: &mut Runner<'_>, seed: u64) {
    let (known, _) = KnownHost::here();
    let lag = match known.lag {
        Some(lag) => Some(lag),
        None => find_out(runner, seed),
    };
    if let Some(lag) = lag {
        runner.progress.note(lag.words());
        runner.set_host_lag(lag.p99_us);
    }
}

fn find_out(runner: &mut Runner<'_>, seed: u64) -> Option<Lag> {
    runner
        .progress
        .note("how late this host wakes up by itself is not known yet: a second with nothing to do");
    let looked = look(runner, seed);
    runner.end_sink();
    match looked {
        Ok(p99_us) => {
            let lag = Lag::now(p99_us?);
            let kept = KnownHost::update(|known| known.lag = Some(lag.clone()));
            kept.unwrap_or_else(|error| {
                runner.progress.warn(format!("the next run looks at it again: {error}"))
            });
            Some(lag)
        }
        Err(error) => {
            runner
                .progress
                .warn(format!("how late this host wakes up by itself could not be found out: {error}"));
            None
        }
    }
}

/// How late 1 % of the arrivals with nothing to do start, µs; `None` if the user stopped it, or other
/// programs were active.
fn look(runner: &mut Runner<'_>, seed: u64) -> Result<Option<f64>, Error> {
    runner.start_sink()?;
    let idle = Operation::Nothing;
    runner.add(idle.name(), Ready::without_facts(idle.workload()?));
    let mut tried: Vec<Run> = Vec::new();
    for _ in 0..TRIES {
        // Its seconds would look like results of the database.
        let (run, setup) = nothing_to_do(seed, TIME / TRIES);
        let done = runner.run(&run, &setup, RunSteps { seconds: false, ..RunSteps::NONE }, Keep::Counters)?;
        if done.measured.interrupted || runner.stop().soon() {
            return Ok(None);
        }
        tried.push(done.finished.run);
    }
    if let Some(busy) = disturbed(&tried, host::cores()) {
        runner.progress.note(format!("{busy}: schedules are judged as if this host woke up in time"));
        return Ok(None);
    }
    Ok(tried.iter().filter_map(lag_us).min_by(f64::total_cmp))
}
