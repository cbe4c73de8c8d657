//! Plans that servers of 15, 17 and 18 made (`samples`: `VERSION-WHAT.json` by statements that each have a trap, the others
//! of tile queries on 17).

use std::collections::BTreeMap;
use std::path::Path;

use spec::{PlanNode, StatementPart, StatementPlan};

use super::*;

fn sample(name: &str) -> StatementPlan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/explain/samples").join(name);
    let plan = read(&std::fs::read_to_string(&path).unwrap());
    plan.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn samples() -> BTreeMap<String, StatementPlan> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/explain/samples");
    let names =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".json")).map(|name| (name.clone(), sample(&name))).collect()
}

/// The first node of this title.
fn node<'p>(plan: &'p StatementPlan, words: &str) -> &'p PlanNode {
    let found = plan.nodes.iter().find(|node| node.words() == words);
    found.unwrap_or_else(|| panic!("no {words} in {:#?}", plan.shape()))
}

fn is_about(ms: f64, wanted: f64) {
    assert!((ms - wanted).abs() < 0.002, "{ms} ms, not {wanted}");
}

#[test]
fn parts_of_all_samples_add_up_and_none_is_below_zero() {
    let samples = samples();
    assert!(samples.len() > 40, "{}", samples.len());
    for (name, plan) in samples {
        let sum: f64 = plan.parts().values().sum();
        let rounding = plan.rounding_ms() + 0.001;
        assert!((sum - plan.total_ms()).abs() <= rounding, "{name}: {sum} of {}", plan.total_ms());
        assert!(plan.evened_ms <= rounding, "{name}: {} ms evened, {rounding} by rounding", plan.evened_ms);
        assert!(plan.nodes.iter().all(|node| node.own_ms >= 0.0), "{name}");
        assert!(plan.parts().values().all(|ms| *ms >= 0.0), "{name}");
        let idle = plan.nodes.iter().filter(|node| node.loops == 0.0);
        assert!(idle.into_iter().all(|node| node.own_ms == 0.0), "{name}");
    }
}

#[test]
fn a_statement_on_one_index_is_split() {
    let plan = sample("explain-modern-polygon-z12.json");
    assert_eq!(plan.shape(), ["Aggregate", "  Index Scan using dela_polygon_way_idx on dela_polygon"]);
    is_about(plan.parts()[&StatementPart::Index], 0.009);
    is_about(plan.parts()[&StatementPart::Aggregate], 0.001);
    is_about(plan.parts()[&StatementPart::Outside], 0.013);
    is_about(plan.planning_ms, 0.081);
    assert_eq!((plan.nodes[0].hit_blocks, plan.nodes[1].hit_blocks), (0, 1));
}

/// It hangs below the aggregate, and the scan waits for it.
#[test]
fn an_init_plan_is_taken_from_the_node_that_asked_for_it() {
    let plan = sample("15-initplan.json");
    is_about(node(&plan, "Seq Scan on a").own_ms, 36.585 - 14.131);
    is_about(plan.nodes[0].own_ms, 39.435 - 36.585);
    for version in [15, 17, 18] {
        let plan = sample(&format!("{version}-initplan.json"));
        assert_eq!(plan.nodes[1].role, "InitPlan 1");
        assert!(plan.nodes[0].own_ms > 0.0 && plan.evened_ms == 0.0, "{version}: {:#?}", plan.nodes[0]);
    }
}

#[test]
fn a_gather_computes_what_its_workers_need() {
    let plan = sample("15-parallel.json");
    let gathers: Vec<&PlanNode> = plan.nodes.iter().filter(|node| node.node_type == "Gather").collect();
    // The first one is the InitPlan's own.
    is_about(gathers[0].own_ms, 25.533 - 14.934);
    is_about(gathers[1].own_ms, 130.063 - 88.911 - 25.543);
    // The time of three concurrent processes is their mean, not their sum.
    is_about(node(&plan, "Parallel Seq Scan on a").own_ms, 4.797);
    let partial = node(&plan, "Partial HashAggregate");
    is_about(partial.own_ms, 88.911 - 53.669);
    assert_eq!(
        (partial.loops, partial.functions.as_slice()),
        (3.0, &["sum".to_owned(), "half".to_owned()][..])
    );
    assert!(node(&plan, "Sort").functions.is_empty(), "what it sorts was computed below");
}

/// The leader was busy longer than a worker that began late: its functions were more than the mean of both.
#[test]
fn functions_of_the_leader_are_scaled_to_all_processes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/explain/samples/15-parallel.json");
    let json = std::fs::read_to_string(path).unwrap();
    let half =
        |self_ms| Calls { name: "half".into(), calls: 10, total_ms: self_ms, self_ms, is_operator: false };
    // The node's three loops without the two workers' loops, minus the same of the join below.
    let leader_ms = (3.0 * 88.911 - 85.512 - 86.294) - (3.0 * 53.669 - 50.887 - 46.582);
    let plan = read_counted(&json, Some(&[half(leader_ms / 2.0)])).unwrap();
    let partial = node(&plan, "Partial HashAggregate");
    is_about(partial.functions_ms, partial.own_ms / 2.0);
    assert_eq!(node(&plan, "Finalize HashAggregate").functions_ms, 0.0, "it names what workers computed");
    let sum: f64 = plan.parts().values().sum();
    assert!((sum - plan.total_ms()).abs() <= plan.rounding_ms() + 0.001);
}

/// Three scans read `x`; it was computed for the first one, within another CTE.
#[test]
fn a_cte_is_taken_from_the_scan_that_waited_for_it() {
    let plan = sample("17-ctes.json");
    let scans: Vec<f64> =
        plan.nodes.iter().filter(|node| node.words() == "CTE Scan on x").map(|node| node.own_ms).collect();
    is_about(scans[0], 9.222 - 9.06);
    // It waited for an InitPlan instead.
    is_about(scans[1], 0.451 - 0.337);
    is_about(scans[2], 0.04);
    is_about(node(&plan, "CTE Scan on y").own_ms, 9.293 - 9.291);
    is_about(node(&plan, "GroupAggregate").own_ms, 9.06 - 3.374);
}

/// Nobody reads what was deleted: that is finished when the topmost node is done, and so is the trigger.
#[test]
fn what_happens_behind_the_topmost_node_is_no_part_of_it() {
    let plan = sample("18-modify.json");
    assert_eq!(plan.shape()[1], "  CTE gone: Delete on b");
    is_about(node(&plan, "Insert on c").own_ms, 0.105 - 0.016);
    is_about(node(&plan, "Delete on b").own_ms, 1.758 - 0.478);
    is_about(plan.triggers_ms, 3.277);
    is_about(plan.parts()[&StatementPart::Outside], 5.32 - 0.105 - 1.758 - 3.277);
    is_about(plan.parts()[&StatementPart::Modify], 0.089 + 1.28);
}

#[test]
fn a_sub_plan_is_part_of_the_node_that_calls_it() {
    let plan = sample("17-subplan.json");
    is_about(plan.serialization_ms.unwrap(), 0.23);
    let called = 0.012 * 1260.0;
    is_about(plan.nodes[0].own_ms, 15.963 - 0.035 - called);
    let aggregate = node(&plan, "Aggregate");
    assert_eq!((aggregate.role.as_str(), aggregate.loops), ("SubPlan 1", 1260.0));
    is_about(aggregate.own_ms, 0.008 * 1260.0);
}

#[test]
fn what_the_server_tells_beside_nodes_is_kept() {
    assert!(sample("15-jit.json").jit_ms > 1.0);
    assert_eq!(sample("15-fetch.json").serialization_ms, None);
    assert!(sample("18-fetch.json").serialization_ms.is_some());
    assert!(sample("18-never.json").nodes.iter().any(|node| node.loops == 0.0));
    assert_eq!(sample("17-fetch.json").nodes[0].io_ms, Some(0.0));
    assert_eq!(sample("explain-modern-polygon-z12.json").nodes[0].io_ms, None);
}

#[test]
fn what_is_no_explanation_says_so() {
    for (json, wanted) in [
        ("Seq Scan on t", "expected value"),
        ("[]", "explains no statement"),
        ("[{}]", "no plan"),
        (r#"[{"Plan": {"Node Type": "Result"}}]"#, "Execution Time is missing"),
        (r#"[{"Plan": {"Node Type": "Result"}, "Execution Time": 1.0}]"#, "time of a node is missing"),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.contains(wanted), "{json}: {error}");
    }
}
