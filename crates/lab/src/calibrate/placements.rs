//! Which placements can be measured on this host.

use server::host;
use server::placement::allowed;

use crate::factors::{PLACES, own_placement};
use crate::runner::Stage;
use crate::strategies::calibration::{Level, Placements};

/// More would exceed the connections of a server with default settings.
const MOST_CLIENTS: u32 = 64;

pub(super) fn available(stage: Option<&Stage>) -> (Placements, Vec<(&'static str, String)>) {
    let why_none = match (stage, allowed()) {
        (None, _) => Some("there is no server here".to_owned()),
        (_, Err(error)) => Some(error.to_string()),
        (_, Ok(cpus)) if cpus.count() < 2 => {
            Some(format!("pgdyno may use one CPU, number {cpus}: client and server are always on the same"))
        }
        (Some(_), Ok(_)) => None,
    };
    let (mut levels, mut not) = (Vec::new(), Vec::new());
    for name in PLACES {
        let placement = match (&why_none, stage) {
            (None, Some(stage)) => own_placement(name, allowed().ok().as_ref()).and_then(|placement| {
                match stage.place(&placement) {
                    Ok(_) => Ok(placement),
                    Err(error) => Err(error.to_string()),
                }
            }),
            (why, _) => Err(why.clone().unwrap_or_default()),
        };
        match placement {
            Ok(placement) => levels.push(Level { name, placement }),
            Err(why) => not.push((name, why)),
        }
    }
    // As many clients as CPUs: all CPUs are busy, and no client waits long for one.
    (Placements { levels, clients: vec![1, host::cores().clamp(2, MOST_CLIENTS)] }, not)
}
