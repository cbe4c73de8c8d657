//! Loop devices over images.

use std::path::Path;
use std::time::{Duration, Instant};

use spec::{Class, Error};

use super::made::MadeFolder;
use super::tools::Tools;

const BOUND: Duration = Duration::from_secs(120);
/// Another program may take the loop device that was found free.
const LOOP_TRIES: u32 = 5;

/// Attaches a loop device to the image, with direct I/O if possible, so that nothing is cached twice.
pub(super) fn attach(made: &MadeFolder, tools: &Tools<'_>) -> Result<String, Error> {
    let image = made.image();
    let args = [Path::new("--find"), Path::new("--show"), &image];
    let (mut tries, start) = (1, Instant::now());
    let device = loop {
        match tools.run("losetup", &args, BOUND) {
            Ok(device) => break device.trim().to_owned(),
            Err(error) if error.class() == Class::Child && tries < LOOP_TRIES && start.elapsed() < BOUND => {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    };
    // Without direct I/O it works, too.
    let _ = tools.run("losetup", &["--direct-io=on", &device], BOUND);
    Ok(device)
}

/// Loop devices of the image.
pub(super) fn attached(made: &MadeFolder, tools: &Tools<'_>) -> Result<Vec<String>, Error> {
    let image = made.image();
    let args = [Path::new("--noheadings"), Path::new("--output"), Path::new("NAME"), Path::new("-j"), &image];
    let names = tools.run("losetup", &args, BOUND)?;
    Ok(names
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| line.starts_with("/dev/loop"))
        .collect())
}
