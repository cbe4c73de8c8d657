//! What limited a higher rate.

use spec::Run;
use spec::figures::{self, Figure};

/// A thread busier than this is almost saturated; the same for the machine's CPUs. Percent.
const FULL_PCT: f64 = 85.0;

/// Other programs with more CPU time than this disturb the calibration of a host. Percent.
const DISTURBING_PCT: f64 = 10.0;

/// Share of `cores` CPUs, percent, that neither the load thread nor its server used in a run.
fn others_pct(run: &Run, cores: u32) -> f64 {
    let figure = |of: Figure| run.figures.get(of).unwrap_or(0.0);
    let server =
        if run.measured_s > 0.0 { 100.0 * figure(figures::SERVER_CPU_S) / run.measured_s } else { 0.0 };
    figure(figures::CPU_BUSY_PCT)
        - (figure(figures::CLIENT_BUSIEST_THREAD_PCT) + server) / f64::from(cores.max(1))
}

pub(crate) fn disturbed<'a>(runs: impl IntoIterator<Item = &'a Run>, cores: u32) -> Option<String> {
    let others: Vec<f64> = runs.into_iter().map(|run| others_pct(run, cores)).collect();
    let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
    (mean > DISTURBING_PCT).then(|| format!("other programs took {mean:.0} % of the CPUs meanwhile"))
}

/// The limit at the rate of `run`, as text: who had no time left on `cores` CPUs.
pub(super) fn limited_by(run: &Run, cores: u32) -> String {
    let figure = |of: Figure| run.figures.get(of).unwrap_or(0.0);
    let thread = figure(figures::CLIENT_BUSIEST_THREAD_PCT);
    let sink =
        if run.measured_s > 0.0 { 100.0 * figure(figures::SERVER_CPU_S) / run.measured_s } else { 0.0 };
    let machine = figure(figures::CPU_BUSY_PCT);
    let others = others_pct(run, cores);
    if thread > FULL_PCT {
        format!("the load thread, busy {thread:.0} % of the time: more threads (-j) can do more")
    } else if sink > FULL_PCT {
        format!("the sink, busy {sink:.0} % of the time; the load thread was so {thread:.0} %")
    } else if machine > FULL_PCT && others > machine / 2.0 {
        format!("what else runs here: it takes {others:.0} % of the CPUs; calibrate again when it is over")
    } else if machine > FULL_PCT {
        format!(
            "the {cores} CPUs, which load, sink and all else here share: busy {machine:.0} % (load thread {thread:.0} %, sink {sink:.0} %)"
        )
    } else {
        format!(
            "how soon the kernel lets the load thread run: it was busy only {thread:.0} %, the sink {sink:.0} %, the CPUs {machine:.0} %"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::calibration::tests::run;

    #[test]
    fn who_had_no_time_left_is_named() {
        let with = |figures: &[(Figure, f64)]| {
            let mut run = run(1.0);
            run.figures.extend(figures.iter().copied());
            limited_by(&run, 2)
        };
        let busy = (figures::CLIENT_BUSIEST_THREAD_PCT, 95.0);
        assert!(with(&[busy, (figures::SERVER_CPU_S, 1.0)]).starts_with("the load thread"));
        assert!(with(&[(figures::SERVER_CPU_S, 1.0), (figures::CPU_BUSY_PCT, 99.0)]).starts_with("the sink"));
        let both = [
            (figures::CPU_BUSY_PCT, 99.0),
            (figures::CLIENT_BUSIEST_THREAD_PCT, 80.0),
            (figures::SERVER_CPU_S, 0.8),
        ];
        assert!(with(&both).starts_with("the 2 CPUs"));
        assert!(with(&[(figures::CPU_BUSY_PCT, 99.0)]).starts_with("what else runs here"));
        assert!(with(&[]).starts_with("how soon the kernel"));
    }

    /// The wake-up lag of a host was stored as measured next to a compiler.
    #[test]
    fn what_others_take_is_no_finding_about_the_host() {
        for (thread, server, machine, wanted) in
            [(60.0, 0.3, 50.0, None), (60.0, 0.3, 90.0, Some("took 45 %")), (0.0, 0.0, 9.0, None)]
        {
            let mut run = run(1.0);
            let figures = [
                (figures::CLIENT_BUSIEST_THREAD_PCT, thread),
                (figures::SERVER_CPU_S, server),
                (figures::CPU_BUSY_PCT, machine),
            ];
            run.figures.extend(figures);
            let told = disturbed([&run, &run], 2);
            assert_eq!(told.is_some(), wanted.is_some(), "{machine}: {told:?}");
            assert!(told.unwrap_or_default().contains(wanted.unwrap_or_default()));
        }
    }
}
