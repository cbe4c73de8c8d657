//! Progress output: a bar on a terminal, else one line per run.

use std::time::Duration;

use ::report::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::runner::{ExperimentStep, LabEvent, Progress, ScriptSecond, Trial};
use owo_colors::OwoColorize;
use report::numbers;
use spec::{Arrivals, Doubt, Promise, Reason, Validity};

use crate::print;

pub(crate) struct Screen {
    bar: ProgressBar,
    verbose: bool,
    interactive: bool,
    /// Whether only warnings stay: all else is temporary, and only on a terminal.
    brief: bool,
    now: String,
    seconds: u64,
    /// Whether the number of runs is an estimate: a search has as many as it needs.
    is_estimate: bool,
}

impl Screen {
    /// `verbose` shows every step of every run.
    pub(crate) fn new(verbose: bool) -> Self {
        let interactive = print::is_interactive() && !verbose;
        let target = if interactive { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        print::above(interactive.then(|| bar.clone()));
        Self { bar, verbose, interactive, brief: false, now: String::new(), seconds: 0, is_estimate: false }
    }

    /// A screen on which only warnings stay.
    pub(crate) fn brief() -> Self {
        let mut screen = Self::new(false);
        screen.brief = true;
        if screen.interactive {
            screen
                .bar
                .set_style(ProgressStyle::with_template("{spinner} {wide_msg}").expect("a valid template"));
            screen.bar.enable_steady_tick(Duration::from_millis(200));
        }
        screen
    }

    /// Prints a line, above the bar if there is one.
    pub(crate) fn line(&self, text: &str) {
        match self.brief {
            true => self.message(text),
            false => print::talk(text),
        }
    }

    /// Shows what takes long before there are runs; where nothing can be redrawn, a line for each step that begins.
    pub(crate) fn now(&self, text: &str, begins: bool) {
        if !self.interactive {
            return if begins {
                print::talk(text)
            };
        }
        if !self.brief {
            self.bar
                .set_style(ProgressStyle::with_template("{spinner} {wide_msg}").expect("a valid template"));
        }
        self.message(text);
    }

    /// Text next to the bar, which is redrawn: escaped.
    fn message(&self, text: &str) {
        self.bar.set_message(visible::line(text).into_owned());
    }

    fn begin(&mut self, planned: usize, stored_runs: usize, [left, at_most]: [Duration; 2]) {
        // Jobs alone have no runs to count.
        if planned == 0 {
            return;
        }
        self.is_estimate = left < at_most;
        let bar = "{bar:20.cyan} {pos}/{len} {wide_msg}\n{prefix}";
        self.bar.set_style(ProgressStyle::with_template(bar).expect("a valid template"));
        self.bar.set_length(planned as u64);
        self.bar.set_position(stored_runs as u64);
        self.bar.enable_steady_tick(Duration::from_millis(200));
        let stored = match stored_runs {
            0 => String::new(),
            stored => format!(", {stored} of them stored before"),
        };
        let runs = lab::words::count(planned, "run");
        self.line(&match left.is_zero() && stored_runs < planned && at_most == left {
            true => format!("{runs}{stored}; how long they take the first one will tell"),
            false if left < at_most => {
                format!("about {runs}{stored}; {} to {} left", time(left), time(at_most))
            }
            false => format!("{runs}{stored}; about {} left", time(left)),
        });
    }

    fn step(&self, step: ExperimentStep, what: &str) {
        let of_a_run = matches!(
            step,
            ExperimentStep::Settings
                | ExperimentStep::Reset
                | ExperimentStep::Cache
                | ExperimentStep::WarmUp
                | ExperimentStep::Measure
                | ExperimentStep::Collect
                | ExperimentStep::Store
        );
        if self.verbose {
            self.line(&format!("step: {step}: {what}"));
        } else if !of_a_run {
            self.line(&format!("{:>8}  {what}", step.name()));
        } else if self.interactive && step == ExperimentStep::Settings {
            self.message(what);
        }
    }

    fn second(&mut self, figures: &str) {
        self.seconds += 1;
        if self.interactive {
            self.message(&format!("{} · {figures}", self.now));
        } else if self.verbose || (self.now.is_empty() && self.seconds % 5 == 1) {
            self.line(figures);
        }
    }

    fn finished(
        &self,
        number: usize,
        planned: usize,
        figures: &str,
        validity: Validity,
        doubts: &str,
        left: Duration,
    ) {
        self.bar.set_position(number as u64);
        let width = planned.to_string().len();
        let of = if self.is_estimate { " of about " } else { "/" };
        let before = format!("{number:>width$}{of}{planned}  {figures}");
        let left = time(left);
        if self.brief {
            return self.message(&before);
        }
        match validity {
            Validity::Valid => print::talk(&format!("{before}  {left} left")),
            Validity::Suspect => {
                print::talk_marked(
                    &format!("{before}  "),
                    &"suspect".yellow(),
                    &format!(": {doubts}  {left} left"),
                );
            }
            Validity::Invalid => {
                print::talk_marked(
                    &format!("{before}  "),
                    &"invalid".red(),
                    &format!(": {doubts}  {left} left"),
                );
            }
        }
    }
}

impl Progress for Screen {
    fn event(&mut self, event: LabEvent) {
        match event {
            LabEvent::Step { step, what } => self.step(step, &what),
            LabEvent::Note { text } => self.line(&format!("{:>8}  {text}", "")),
            LabEvent::Warning { text } => print::warning(&text),
            LabEvent::Begin { planned, stored, left, left_at_most, .. } => {
                self.begin(planned, stored, [left, left_at_most.unwrap_or(left)]);
            }
            LabEvent::RunStarted { what, next, left, .. } => {
                let next = next.map(|next| format!("; next: {next}")).unwrap_or_default();
                self.now = what;
                self.message(&self.now);
                self.bar.set_prefix(visible::line(&format!("{} left{next}", time(left))).into_owned());
            }
            LabEvent::Second { start_us, length_us, scripts, .. } => {
                self.second(&second(start_us, length_us, &scripts));
            }
            LabEvent::RunFinished {
                number,
                planned,
                what,
                tps,
                took_s,
                latency_p99_ms,
                sliced,
                commands_per_s,
                hit_pct,
                arrivals,
                promise,
                trial,
                validity,
                doubts,
                left,
                ..
            } => {
                let doubts: Vec<String> = match self.verbose {
                    true => doubts.iter().map(|doubt| in_words(doubt, arrivals.as_deref())).collect(),
                    false => doubts.iter().map(|doubt| doubt.reason.text().to_owned()).collect(),
                };
                let figures = format!(
                    "{}{}{}",
                    match took_s {
                        Some(seconds) => format!("{what}: {}", numbers::duration(seconds)),
                        None => figures(&what, tps, latency_p99_ms, sliced),
                    },
                    of_commands(commands_per_s, hit_pct),
                    match trial {
                        Some(trial) => trial_words(trial),
                        None => in_time(arrivals.as_deref(), promise.as_ref()),
                    }
                );
                self.finished(
                    number,
                    planned,
                    &figures,
                    validity,
                    &doubts.join(if self.verbose { "; " } else { ", " }),
                    left,
                );
            }
            LabEvent::JobFinished { what, took, reused } => {
                self.line(&format!("{:>8}  {}", "", job_words(&what, took, reused)));
            }
        }
    }
}

/// A job with the time that it took now, or took when its result was made.
fn job_words(what: &str, took: Duration, reused: bool) -> String {
    let seconds = took.as_secs_f64();
    match reused {
        true => format!("{what}: there already (made in {seconds:.1} s)"),
        false => format!("{what}: {seconds:.1} s"),
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        print::above(None);
        self.bar.finish_and_clear();
    }
}

/// `12 s: 5,123 tps, 1.2 ms, 3 late`.
fn second(start_us: i64, length_us: u64, scripts: &[ScriptSecond]) -> String {
    let sum = |count: fn(&ScriptSecond) -> u64| scripts.iter().map(count).sum::<u64>();
    let done = sum(|script| script.ok + script.late);
    let seconds = length_us as f64 / 1e6;
    let tps = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
    let sum_us = scripts.iter().map(|script| script.response.sum_ns() as f64 / 1e3).sum::<f64>();
    let latency = (done > 0).then(|| format!(", {}", numbers::latency_us(sum_us / done as f64)));
    let when = match start_us {
        0.. => format!("{:.0} s", start_us as f64 / 1e6 + seconds),
        _ => "warm-up".to_owned(),
    };
    let missed = [
        (sum(|script| script.failed), "failed"),
        (sum(|script| script.late), "late"),
        (sum(|script| script.skipped), "skipped"),
    ];
    let missed = missed.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}"));
    let missed: String = missed.collect();
    format!("{when}: {} tps{}{missed}", numbers::tps(tps), latency.unwrap_or_default())
}

/// `tpcb, 4 clients: 5.12 tps, p99 273 ms`: three digits, so that small rates remain distinct.
fn figures(what: &str, tps: f64, p99_ms: Option<f64>, sliced: bool) -> String {
    let of = if sliced { " in slices" } else { "" };
    let latency = |p99: f64| format!(", p99 {}{of}", numbers::latency_us(p99 * 1e3));
    let latency = p99_ms.map(latency).unwrap_or_default();
    format!("{what}: {} tps{latency}", numbers::tps(tps))
}

/// `, 82,100 commands/s, 93.1 % hits`: if a transaction is a pipeline, and if lookups may miss.
fn of_commands(commands_per_s: Option<f64>, hit_pct: Option<f64>) -> String {
    let commands = commands_per_s.map(|per_s| format!(", {} commands/s", numbers::tps(per_s)));
    let hits = hit_pct.map(|pct| format!(", {} hits", numbers::percent(pct / 100.0)));
    commands.into_iter().chain(hits).collect()
}

/// A doubt with its figures, unless they are already in the line.
fn in_words(doubt: &Doubt, arrivals: Option<&Arrivals>) -> String {
    match doubt.reason {
        Reason::Overloaded if arrivals.is_some() => Reason::Overloaded.text().to_owned(),
        _ => doubt.to_string(),
    }
}

/// Text after the response time: the arrivals of an open load, or how another load kept a promise.
fn in_time(arrivals: Option<&Arrivals>, promise: Option<&Promise>) -> String {
    let Some(arrivals) = arrivals else {
        return promise
            .map(|promise| format!("; {}", report::arrivals::promise_words(promise)))
            .unwrap_or_default();
    };
    let started = if arrivals.started_only { " of those started" } else { "" };
    format!("{started}; {}", report::arrivals::words(arrivals))
}

fn trial_words(trial: Trial) -> String {
    let kept = if trial.kept { "kept" } else { "broken" };
    let percent = |pct: f64| numbers::percent(pct / 100.0);
    let left =
        trial.left_pct.map(|left| format!(", {} still waiting or skipped: a queue grows", percent(left)));
    format!("; promise {kept}, {} bad{}", percent(trial.bad_pct), left.unwrap_or_default())
}

/// `45 s`, `3 min 05 s`, `2 h 10 min`.
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both arms were shown as "5 tps" although one was 16 % faster.
    #[test]
    fn small_rates_that_differ_are_told_apart() {
        assert_eq!(figures("tiles", 4.66, Some(272.63), false), "tiles: 4.66 tps, p99 273 ms");
        assert_eq!(figures("tiles", 5.41, None, true), "tiles: 5.41 tps");
        assert_eq!(figures("reads", 32_149.3, Some(0.331), true), "reads: 32,100 tps, p99 331 µs in slices");
    }

    /// Regression: the time of an earlier invocation read as if the job had taken it now.
    #[test]
    fn a_job_that_was_done_before_takes_no_time_now() {
        let took = Duration::from_millis(7_340);
        assert_eq!(job_words("load a.pbf", took, false), "load a.pbf: 7.3 s");
        assert_eq!(job_words("load a.pbf", took, true), "load a.pbf: there already (made in 7.3 s)");
    }

    #[test]
    fn pipelines_are_told_in_commands_too_and_caches_with_their_hits() {
        assert_eq!(of_commands(None, None), "");
        assert_eq!(of_commands(Some(82_080.4), Some(93.14)), ", 82,100 commands/s, 93.1 % hits");
    }

    /// 11,202 of 11,202 transactions were late, which the run's line did not show.
    #[test]
    fn a_promise_in_closed_load_is_in_the_line_of_a_run() {
        let promise = Promise { ms: Some(0.05), late: 11_202, done: 11_202 };
        assert_eq!(in_time(None, Some(&promise)), "; late 11,202 of 11,202 (100 %), promise 0.05 ms");
        assert_eq!(in_time(None, None), "");
    }

    /// "broken, 2.2 % bad" for a promise that allows 5 % late had no reason.
    #[test]
    fn a_trial_that_its_queue_broke_says_so() {
        let trial = |kept, left_pct| Trial { kept, bad_pct: 2.2, left_pct };
        assert_eq!(trial_words(trial(true, None)), "; promise kept, 2.2 % bad");
        assert_eq!(
            trial_words(trial(false, Some(1.02))),
            "; promise broken, 2.2 % bad, 1 % still waiting or skipped: a queue grows"
        );
    }

    #[test]
    fn times_read_well() {
        for (seconds, wanted) in [(0, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (7800, "2 h 10 min")] {
            assert_eq!(time(Duration::from_secs(seconds)), wanted);
        }
    }
}
