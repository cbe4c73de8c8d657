//! Whether a load that was measured elsewhere can be believed.

use record::{Doubt, Reason, Validity};

use super::reader::Load;

/// Below this, whole seconds say little: one of them is a tenth.
const FEW_SECONDS: u64 = 10;

/// The verdict with its reasons; suspect at best, since nobody watched how it was measured.
pub(super) fn judge(load: &Load, by: &str) -> (Validity, Vec<Doubt>) {
    let mut doubts = vec![Doubt {
        reason: Reason::Imported,
        detail: format!("measured by {by}; neither its server nor its machine was watched"),
    }];
    let mut validity = Validity::Suspect;
    let mut failed = |detail: String| {
        validity = Validity::Invalid;
        doubts.push(Doubt { reason: Reason::Errors, detail });
    };
    if let Some(error) = &load.told.error {
        failed(error.clone());
    }
    if let Some(how) = &load.resources.failed {
        failed(how.clone());
    }
    match load.told.overall_s {
        None if load.told.error.is_none() && load.resources.failed.is_none() => {
            failed("the log ends early: it does not say how long osm2pgsql took".to_owned());
        }
        Some(seconds @ 0..FEW_SECONDS) => {
            let detail = format!("{seconds} s, in whole seconds");
            doubts.push(Doubt { reason: Reason::TooShort, detail });
        }
        _ => {}
    }
    (validity, doubts)
}
