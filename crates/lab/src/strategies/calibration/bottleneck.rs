//! What stood in the way of a higher rate.

use record::Run;

/// A thread busier than this is all but saturated; the machine's CPUs likewise. Percent.
const FULL_PCT: f64 = 85.0;

/// What did at the rate of `run`, in words: by who had no time left on `cores` CPUs.
pub(super) fn limited_by(run: &Run, cores: u32) -> String {
    let figure = |name: &str| run.figures.get(name).copied().unwrap_or(0.0);
    let thread = figure("client_busiest_thread_pct");
    let sink = if run.measured_s > 0.0 { 100.0 * figure("server_cpu_s") / run.measured_s } else { 0.0 };
    let machine = figure("cpu_busy_pct");
    let others = machine - (thread + sink) / f64::from(cores.max(1));
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
        let with = |figures: &[(&str, f64)]| {
            let mut run = run(1.0);
            run.figures.extend(figures.iter().map(|(name, value)| ((*name).to_owned(), *value)));
            limited_by(&run, 2)
        };
        let busy = ("client_busiest_thread_pct", 95.0);
        assert!(with(&[busy, ("server_cpu_s", 1.0)]).starts_with("the load thread"));
        assert!(with(&[("server_cpu_s", 1.0), ("cpu_busy_pct", 99.0)]).starts_with("the sink"));
        let both = [("cpu_busy_pct", 99.0), ("client_busiest_thread_pct", 80.0), ("server_cpu_s", 0.8)];
        assert!(with(&both).starts_with("the 2 CPUs"));
        assert!(with(&[("cpu_busy_pct", 99.0)]).starts_with("what else runs here"));
        assert!(with(&[]).starts_with("how soon the kernel"));
    }
}
