//! Where the time of a run's statements goes: a sample of transactions, explained after the run.
//!
//! After the run the caches are as they were in the run, and nothing is disturbed: the next run is brought to
//! its own state first. It uses a connection like the clients' ones, with the settings of the run, but no
//! pooler.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::postgres::Place;
use server::control::Control;
use spec::{Artifact, Run, RunEvent, TileFigures};
use workloads::tiles::Tile;
use workloads::{CheckTime, SamplePlans, Site, TileItem};

use super::checked::Checked;
use super::{ExperimentStep, ProgressExt, Runner, event};
use crate::setup::{Cache, Setup};

const CONNECTING: Duration = Duration::from_secs(10);

impl Runner<'_> {
    /// Explains the run's requests, in a connection to this place. A failure is recorded with the run and
    /// does not invalidate it.
    pub(super) fn take_plans(&mut self, setup: &Setup, place: &Place, record: &mut Run, time: Duration) {
        if self.stop.soon() {
            return;
        }
        let explained = match setup.cache {
            Cache::Cold => SamplePlans::not("the data is in no cache at first, and explained it is"),
            Cache::AsLeft | Cache::Warm => {
                self.progress.step(ExperimentStep::Collect, "plans of a sample of transactions");
                self.ask_for_plans(setup, place, &slowest(record), time).unwrap_or_else(SamplePlans::not)
            }
        };
        keep(explained, record);
    }

    fn ask_for_plans(
        &mut self,
        setup: &Setup,
        place: &Place,
        slowest: &[TileItem],
        time: Duration,
    ) -> Result<SamplePlans, String> {
        let Some(ready) = self.workloads.get_mut(&setup.asked()) else { return Ok(SamplePlans::default()) };
        let mut sql = Control::open(place, Some(CONNECTING)).map_err(|error| error.to_string())?;
        if !sql.is_direct().map_err(|error| error.to_string())? {
            // Its settings and prepared statements would affect the next client.
            return Ok(SamplePlans::not(
                "plans are read on a session of pgdyno's own, which a pooler does not give",
            ));
        }
        let checked = Checked::new(&mut *self.progress);
        let hears = |note| checked.hear(note);
        let mut site = Site { time: CheckTime::begin(time, &hears), ..Site::postgres(&mut sql) };
        // The run's seed: the same transactions for all arms of the cell.
        let explained = ready.workload.explain(&mut site, setup.seed, slowest);
        let mut explained = explained.map_err(|error| error.to_string())?;
        if let Some(words) = checked.not_looked_words("explained", time) {
            self.progress.warn(format!("{}: {words}", setup.workload));
            explained.missing.push(words);
        }
        Ok(explained)
    }
}

/// Slowest tiles of the run whose plans are kept.
const SLOWEST: usize = 3;

/// The slowest by their rank, and the one with the longest mean: its plan shows whether it is slow or was
/// stalled.
fn slowest(record: &Run) -> Vec<TileItem> {
    let mut zooms: BTreeMap<u32, (f64, u64)> = BTreeMap::new();
    for tile in &record.tiles {
        let (sum_us, requests) = zooms.entry(tile.script).or_default();
        *sum_us += tile.mean_us * tile.requests as f64;
        *requests += tile.requests;
    }
    let rank = |tile: &TileFigures| {
        let (sum_us, requests) = zooms[&tile.script];
        tile.rank_us(sum_us / requests.max(1) as f64)
    };
    let mut tiles: Vec<&TileFigures> = record.tiles.iter().collect();
    tiles.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    let longest = tiles.iter().copied().max_by(|a, b| a.mean_us.total_cmp(&b.mean_us));
    let behind = longest.filter(|longest| !tiles.iter().take(SLOWEST).any(|tile| tile == longest));
    let item = |tile: &TileFigures| TileItem {
        script: u16::try_from(tile.script).unwrap_or(u16::MAX),
        tile: Tile { z: tile.z, x: tile.x, y: tile.y },
    };
    tiles.into_iter().take(SLOWEST).chain(behind).map(item).collect()
}

fn keep(explained: SamplePlans, record: &mut Run) {
    let SamplePlans { plans, slowest, kept, missing } = explained;
    record.events.extend(missing.into_iter().map(|why| event(RunEvent::NO_PLANS, why)));
    if let Some(slowest) = slowest {
        let plan = &plans[slowest.plan];
        record.artifacts.push(Artifact {
            name: format!("plan/{}/{}", plan.script, plan.line),
            media_type: "application/json".to_owned(),
            caption: format!(
                "the slowest of {}: {}, line {}, transaction {} of the sample, {:.3} ms",
                crate::words::count(plans.len(), "plan"),
                plan.script,
                plan.line,
                plan.draw + 1,
                plan.total_ms()
            ),
            bytes: slowest.json.into_bytes(),
        });
    }
    record.artifacts.extend(kept.into_iter().map(|kept| Artifact {
        name: format!("plan/{}", kept.name),
        media_type: "application/json".to_owned(),
        caption: kept.caption,
        bytes: kept.json.into_bytes(),
    }));
    record.plans = plans;
}

#[cfg(test)]
mod tests {
    use spec::{RunKey, RunKind, StatementPlan};
    use workloads::Slowest;

    use super::*;

    #[test]
    fn plans_are_kept_of_the_slowest_and_of_the_longest_request() {
        let key = RunKey { workload: "w".into(), factors: [].into(), arm: None, round: 1 };
        let tile = |script, x, requests, mean_us| TileFigures {
            script,
            z: 9,
            x,
            y: 0,
            requests,
            mean_us,
            max_us: mean_us,
            bytes: 1.0,
        };
        let fast = (0..20).map(|x| tile(0, x, 50, 10.0 + f64::from(x)));
        let tiles =
            fast.chain([tile(0, 90, 1, 4000.0), tile(1, 7, 1, 900.0), tile(1, 8, 2, 800.0)]).collect();
        let found = slowest(&Run { tiles, ..Run::new(RunKind::Client, key) });
        let columns: Vec<u32> = found.iter().map(|item| item.tile.x).collect();
        assert_eq!(columns, [7, 8, 19, 90]);
    }

    #[test]
    fn what_is_missing_is_told_and_the_slowest_is_kept() {
        let key = RunKey { workload: "w".into(), factors: [].into(), arm: None, round: 1 };
        let mut run = Run::new(RunKind::Client, key);
        let plan =
            StatementPlan { script: "a.sql".into(), line: 3, execution_ms: 2.0, ..StatementPlan::default() };
        let json = r#"[{"Plan": {"Filter": "(id = 1)"}}]"#.to_owned();
        let explained = SamplePlans {
            plans: vec![plan],
            slowest: Some(Slowest { plan: 0, json: json.clone() }),
            kept: Vec::new(),
            missing: vec!["a.sql, line 4: no query".to_owned()],
        };
        keep(explained, &mut run);
        assert_eq!((run.plans.len(), run.events[0].kind.as_str()), (1, RunEvent::NO_PLANS));
        let kept = &run.artifacts[0];
        assert_eq!(kept.name, "plan/a.sql/3");
        assert_eq!(
            kept.caption,
            "the slowest of 1 plan: a.sql, line 3, transaction 1 of the sample, 2.000 ms"
        );
        assert_eq!(kept.bytes, json.into_bytes());
    }
}
