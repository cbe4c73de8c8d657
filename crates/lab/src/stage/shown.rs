//! Marks a server by URL as measured, for pgdyno processes on other machines.
use std::fmt::Display;

use server::measuring::{self, Marker};
use spec::Error;

use super::Stage;
use crate::concurrent;
use crate::event::{Progress, ProgressExt};

impl Stage {
    /// Waits for processes that measure on this machine, then for those which measure this server from other
    /// machines, and shows both that this one measures now. Does nothing if this process does not measure.
    pub(super) fn show(&mut self, progress: &mut dyn Progress) -> Result<(), Error> {
        if !measuring::is_announced() {
            return Ok(());
        }
        measuring::on(&self.target.redacted());
        let stop = self.stop.clone();
        concurrent::take_turn(progress, &stop)?;
        if self.target.cluster().is_ok() {
            return Ok(());
        }
        let mut marker = match self.target.control().map(|own| Marker::over(own, &measuring::command())) {
            Ok(Ok(marker)) => marker,
            Ok(Err(error)) => return not_available(&error, progress),
            // The next connection reports the error.
            Err(_) => return Ok(()),
        };
        concurrent::wait("this server", || marker.before_us().unwrap_or_default(), progress, &stop)?;
        if let Err(error) = marker.begin() {
            return not_available(&error, progress);
        }
        self.marker = Some(marker);
        Ok(())
    }

    pub(crate) fn others_measuring(&mut self) -> Vec<String> {
        // A restarted server has lost the marks.
        self.marker.as_mut().and_then(|marker| marker.others().ok()).unwrap_or_default()
    }
}

fn not_available(error: &dyn Display, mut progress: &mut dyn Progress) -> Result<(), Error> {
    progress
        .note(format!("whether others measure this server from other machines is not available: {error}"));
    Ok(())
}
