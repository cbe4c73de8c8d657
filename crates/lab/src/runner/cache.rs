//! Sets which data are in memory when a run begins, if a factor requires it: the server is restarted, with
//! its files in the page cache or not.

use server::Stop;
use server::page_cache::{Resident, can_drop, drop_files, read_files};
use spec::Error;

use crate::setup::Cache;
use crate::stage::Stage;

/// Stops the server, removes its files from the page cache or reads them into it, and starts it again.
/// Returns a text about it, and how much of the files is in memory.
pub(super) fn bring(stage: &mut Stage, cache: Cache, stop: &Stop) -> Result<(String, Resident), Error> {
    stage.disconnect()?;
    stage.target.cluster()?.stop()?;
    let again = cache == Cache::Cold && stage.target.drop_storage_caches()?;
    let cluster = stage.target.cluster()?;
    let done = with_files(cache, &cluster.data(), again, stop);
    // Start it even if that failed.
    cluster.start()?;
    let (mut told, resident) = done?;
    if again {
        told.push_str("; its filesystem was mounted again");
    }
    Ok((told, resident))
}

/// A filesystem that was `mounted_anew` has an empty cache too.
fn with_files(
    cache: Cache,
    data: &std::path::Path,
    mounted_anew: bool,
    stop: &Stop,
) -> Result<(String, Resident), Error> {
    let (what, resident) = match cache {
        Cache::Cold => {
            if !mounted_anew {
                can_drop(data)?;
            }
            let (way, left) = drop_files(data, stop)?;
            (format!("cold: {}", way.words()), left)
        }
        _ => ("warm: the server's files were read".to_owned(), read_files(data, stop)?),
    };
    let all = spec::bytes(resident.all);
    let told = format!(
        "{what} while the server was stopped; {:.1} % of {all} were in the page cache when it was started",
        resident.pct()
    );
    Ok((told, resident))
}
