//! Plans of results files up to version 10, which had no decisions with reasons.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    ArmPlacement, ChosenPlacement, Copies, Decision, Decisions, Generator, NotRun, Placement, Recorded,
    Slicing,
};

/// The parts of a plan that became decisions.
#[derive(Deserialize)]
struct Former {
    seed: u64,
    #[serde(rename = "standing")]
    arm_placement: Option<FormerArmPlacement>,
    slicing: Option<FormerSlicing>,
    placement: Option<FormerPlacement>,
    generator: Option<Generator>,
    #[serde(default)]
    not_run: Vec<NotRun>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FormerArmPlacement {
    Copies {
        #[serde(flatten)]
        copies: Copies,
        #[serde(default)]
        figures: String,
    },
    AsTheyAre {
        why: String,
    },
}

#[derive(Deserialize)]
struct FormerSlicing {
    #[serde(default)]
    uncut: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct FormerPlacement {
    level: String,
    placement: Placement,
    why: String,
}

/// A stored plan of such a file in the present form; `None` if it is another one.
#[must_use]
pub fn of_former(text: &str) -> Option<String> {
    let Recorded::Plan(mut plan) = Recorded::read(text) else { return None };
    let former: Former = serde_json::from_str(text).ok()?;
    plan.decisions = Decisions {
        seed: Decision::decided(former.seed, ""),
        left_out: Decision::decided(former.not_run, ""),
        placement: former.placement.map(|FormerPlacement { level, placement, why }| {
            Decision::decided(ChosenPlacement { level, placement }, why)
        }),
        arm_placement: former.arm_placement.map(|arm_placement| match arm_placement {
            FormerArmPlacement::Copies { copies, figures } => {
                Decision::decided(ArmPlacement::Copies(copies), figures)
            }
            FormerArmPlacement::AsTheyAre { why } => Decision::decided(ArmPlacement::AsTheyAre, why),
        }),
        slices: former.slicing.map_or_else(BTreeMap::new, |slicing| {
            let uncut = slicing.uncut.into_iter();
            uncut.map(|(name, why)| (name, Decision::decided(Slicing::Uncut, why))).collect()
        }),
        generator: former.generator.map(|generator| Decision::decided(generator, "")),
        ..Decisions::default()
    };
    serde_json::to_string(&plan).ok()
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;

    #[test]
    fn what_was_decided_before_is_kept() {
        let mut plan = serde_json::to_value(Plan { rounds: 4, ..Plan::default() }).unwrap();
        let table = plan.as_object_mut().unwrap();
        table.remove("decisions");
        for (key, value) in [
            ("seed", "7"),
            (
                "standing",
                r#"{"copies":{"each":2,"swapped":true,"figures":"they need 1 GB","apart":["w"],"background":["wal_buffers"]}}"#,
            ),
            ("slicing", r#"{"uncut":{"w":"it writes"},"facts":{"writes":["w"]}}"#),
            ("placement", r#"{"level":"free","placement":{},"why":"no advice"}"#),
            ("not_run", r#"[{"what":"version 19","why":"not installed"}]"#),
        ] {
            table.insert(key.to_owned(), serde_json::from_str(value).unwrap());
        }
        let text = of_former(&plan.to_string()).unwrap();
        let recorded = Recorded::read(&text);
        let plan = recorded.plan().unwrap();
        assert_eq!((plan.seed(), plan.rounds, plan.not_run().len()), (7, 4, 1));
        assert_eq!(plan.copies().map(|copies| (copies.each, copies.swapped)), Some((2, true)));
        let arm_placement = plan.decisions.arm_placement.as_ref();
        assert_eq!(arm_placement.map(Decision::why), Some("they need 1 GB"));
        assert_eq!(plan.slicing("w").map(Decision::why), Some("it writes"));
        assert_eq!(plan.placement().map(|chosen| &*chosen.level), Some("free"));
        assert_eq!(of_former(r#"{"imported":"a"}"#), None);
    }
}
