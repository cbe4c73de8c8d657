//! Several pgdyno processes that measure one machine or one server at the same time. The later one waits for
//! the earlier one, or continues if the user allowed it; then the runs of both record that they were not
//! alone.

use std::time::{Duration, Instant};

use server::Stop;
use server::measuring::{self, OtherPgdyno};
use spec::plan::Plan;
use spec::{Class, Doubt, Error, Reason, Run, Validity};

use crate::error::stopped;
use crate::event::{Progress, ProgressExt};
use crate::plan::identity;
use crate::validity::worst;

const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(200);

/// While this exists, other pgdyno processes see that this one measures.
#[derive(Debug)]
pub struct Measuring(());

impl Drop for Measuring {
    fn drop(&mut self) {
        measuring::end();
    }
}

/// Announces to others on this machine that a command is going to measure a plan. Once its server is reached, it
/// waits for the earlier ones, unless it `goes_on` next to them. Parts of one load do not wait for each other.
pub fn announce(command: &str, plan: &Plan, goes_on: bool, mut progress: &mut dyn Progress) -> Measuring {
    let command = match plan.shared_part() {
        None => command.to_owned(),
        Some(part) => measuring::of_load(command, &format!("{} {}", identity::hash(&plan.content), part.of)),
    };
    let command = &command;
    if let Err(error) = measuring::announce(command, goes_on) {
        // Not fatal: a measurement without others does not need this.
        progress.note(format!("other pgdyno processes cannot be seen: {error}"));
    }
    Measuring(())
}

/// Waits for the processes on this machine that came first; from then on this process measures. Does nothing
/// if this process did not announce itself or measures already. Checks that refuse a command at once come
/// before.
///
/// # Errors
/// When another one still measures after ten minutes, or the user stopped.
pub(crate) fn take_turn(progress: &mut dyn Progress, stop: &Stop) -> Result<(), Error> {
    if measuring::is_waiting() {
        let before = || measuring::before_us().iter().map(OtherPgdyno::words).collect();
        wait("this machine", before, progress, stop)?;
        measuring::begin();
    }
    Ok(())
}

pub(crate) fn wait(
    place: &str,
    look: impl FnMut() -> Vec<String>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), Error> {
    wait_for(place, look, (measuring::goes_on(), PATIENCE), progress, stop)
}

fn wait_for(
    place: &str,
    mut look: impl FnMut() -> Vec<String>,
    (goes_on, patience): (bool, Duration),
    mut progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), Error> {
    let start = Instant::now();
    let mut told = None;
    loop {
        let others = look();
        let Some(first) = others.first() else { return Ok(()) };
        if goes_on {
            progress
                .warn(format!("another pgdyno measures {place}, and the runs say so: {}", others.join("; ")));
            return Ok(());
        }
        if stop.ends_waits() {
            return Err(stopped());
        }
        if start.elapsed() >= patience {
            let what = format!("another pgdyno measures {place}: {first}");
            let hint =
                "give the command again when that has ended, or with --beside: then the runs are suspect";
            return Err(Error::new(Class::Refused, what).with_hint(hint));
        }
        if told.as_ref() != Some(first) {
            progress.warn(format!(
                "another pgdyno measures {place}: {first}; waiting until it ends, for {} min at most (--beside does not wait)",
                patience.as_secs() / 60
            ));
            told = Some(first.clone());
        }
        std::thread::sleep(PAUSE);
    }
}

/// Marks a run during which others measured: processes on this machine, and those on other machines with the
/// same server.
pub(crate) fn mark(run: &mut Run, on_server: Vec<String>) {
    measuring::look();
    // The warning before the first run had their servers: not again in each run.
    let others: Vec<String> = measuring::seen().iter().map(OtherPgdyno::in_short).chain(on_server).collect();
    if !others.is_empty() {
        let detail = format!("another pgdyno measured at the same time: {}", others.join("; "));
        run.doubts.push(Doubt { reason: Reason::OtherPgdyno, detail });
        run.validity = worst([run.validity, Validity::Suspect].into_iter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::LabEvent;

    #[derive(Default)]
    struct Heard(Vec<String>);

    impl Progress for Heard {
        fn event(&mut self, event: LabEvent) {
            if let LabEvent::Warning { text } = event {
                self.0.push(text);
            }
        }
    }

    #[test]
    fn the_second_one_waits_for_the_first_and_gives_up_in_the_end() {
        let (mut heard, stop) = (Heard::default(), Stop::new());
        let mut looks = 0;
        let ends = || {
            looks += 1;
            if looks < 3 { vec!["pid 7, pgdyno run".to_owned()] } else { Vec::new() }
        };
        wait_for("this machine", ends, (false, PATIENCE), &mut heard, &stop).unwrap();
        assert_eq!(heard.0.len(), 1, "{:?}", heard.0);
        assert!(heard.0[0].starts_with("another pgdyno measures this machine: pid 7, pgdyno run; waiting"));
        let stays = || vec!["pid 7".to_owned()];
        let refused = wait_for("s", stays, (false, Duration::ZERO), &mut heard, &stop).unwrap_err();
        assert_eq!(refused.class(), Class::Refused);
        wait_for("s", stays, (true, Duration::ZERO), &mut heard, &stop).unwrap();
        stop.press();
        let stopped = wait_for("s", stays, (false, PATIENCE), &mut heard, &stop).unwrap_err();
        assert_eq!(stopped.class(), Class::Interrupted);
    }
}
