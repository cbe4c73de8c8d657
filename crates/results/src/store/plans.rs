//! Plans of statements: written and read with their run.

use rusqlite::{Row, Transaction, params};
use spec::{Error, FunctionTime, LayerTime, PlanNode, StatementPart, StatementPlan};

use super::rows::to_json;
use super::runs::{StoredRuns, of_runs};
use super::{ExperimentId, Sqlite, Store, rows};

pub(super) fn insert(transaction: &Transaction<'_>, run: i64, plans: &[StatementPlan]) -> Sqlite<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO statement_plan VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for (position, plan) in (0_i64..).zip(plans) {
        insert.execute(params![
            run,
            position,
            plan.script,
            plan.line,
            plan.draw,
            plan.planning_ms,
            plan.execution_ms,
            plan.untimed_ms,
            plan.serialization_ms,
            plan.triggers_ms,
            plan.jit_ms,
            plan.evened_ms,
            plan.functions_evened_ms,
        ])?;
        insert_nodes(transaction, (run, position), &plan.nodes)?;
        insert_functions(transaction, (run, position), &plan.functions)?;
        insert_layers(transaction, (run, position), &plan.layers)?;
    }
    Ok(())
}

fn insert_nodes(
    transaction: &Transaction<'_>,
    (run, position): (i64, i64),
    nodes: &[PlanNode],
) -> Sqlite<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO plan_node VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?;
    for (number, node) in (0_i64..).zip(nodes) {
        let [hit, read, dirtied] =
            [node.hit_blocks, node.read_blocks, node.dirtied_blocks].map(|blocks| blocks as i64);
        insert.execute(params![
            run,
            position,
            number,
            node.depth,
            node.role,
            node.node_type,
            node.relation,
            node.index,
            node.part.name(),
            node.own_ms,
            node.rows,
            node.loops,
            hit,
            read,
            dirtied,
            node.io_ms,
            to_json(&node.functions),
            node.functions_ms,
        ])?;
    }
    Ok(())
}

fn insert_functions(
    transaction: &Transaction<'_>,
    (run, position): (i64, i64),
    functions: &[FunctionTime],
) -> Sqlite<()> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO statement_function VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for (number, function) in (0_i64..).zip(functions) {
        insert.execute(params![
            run,
            position,
            number,
            function.name,
            i64::try_from(function.calls).unwrap_or(i64::MAX),
            function.self_ms,
            function.part.name(),
            function.booked_ms,
        ])?;
    }
    Ok(())
}

fn insert_layers(
    transaction: &Transaction<'_>,
    (run, position): (i64, i64),
    layers: &[LayerTime],
) -> Sqlite<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO statement_layer VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for (number, LayerTime { name, ms, source }) in (0_i64..).zip(layers) {
        insert.execute(params![run, position, number, name, ms, source.name()])?;
    }
    Ok(())
}

impl Store {
    pub(super) fn fill_plans(&self, found: &mut StoredRuns, id: ExperimentId) -> Result<(), Error> {
        let plans = of_runs(
            "script, line, draw, planning_ms, execution_ms, untimed_ms, serialization_ms, triggers_ms, jit_ms, evened_ms,
             functions_evened_ms",
            "statement_plan",
            "run_id, position",
        );
        self.fill_with(found, id, &plans, plan, |run, plan| run.plans.push(plan))?;
        let nodes = of_runs(
            "position, depth, role, node_type, relation, index_name, part, own_ms, rows, loops, hit_blocks, read_blocks,
             dirtied_blocks, io_ms, functions, functions_ms",
            "plan_node",
            "run_id, position, node",
        );
        self.fill_with(found, id, &nodes, node, |run, (position, node)| {
            if let Some(plan) = run.plans.get_mut(position) {
                plan.nodes.push(node);
            }
        })?;
        let functions = of_runs(
            "position, name, calls, self_ms, part, booked_ms",
            "statement_function",
            "run_id, position, function",
        );
        self.fill_with(found, id, &functions, function, |run, (position, function)| {
            if let Some(plan) = run.plans.get_mut(position) {
                plan.functions.push(function);
            }
        })?;
        let layers = of_runs("position, name, ms, source", "statement_layer", "run_id, position, layer");
        self.fill_with(found, id, &layers, layer, |run, (position, layer)| {
            if let Some(plan) = run.plans.get_mut(position) {
                plan.layers.push(layer);
            }
        })
    }
}

fn plan(row: &Row<'_>) -> Sqlite<StatementPlan> {
    Ok(StatementPlan {
        script: row.get(0)?,
        line: row.get(1)?,
        draw: row.get(2)?,
        planning_ms: row.get(3)?,
        execution_ms: row.get(4)?,
        untimed_ms: row.get(5)?,
        serialization_ms: row.get(6)?,
        triggers_ms: row.get(7)?,
        jit_ms: row.get(8)?,
        evened_ms: row.get(9)?,
        functions_evened_ms: row.get(10)?,
        nodes: Vec::new(),
        functions: Vec::new(),
        layers: Vec::new(),
    })
}

fn node(row: &Row<'_>) -> Sqlite<(usize, PlanNode)> {
    let blocks = |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
    let part: StatementPart = rows::read_word(row, 6)?;
    let node = PlanNode {
        depth: row.get(1)?,
        role: row.get(2)?,
        node_type: row.get(3)?,
        relation: row.get(4)?,
        index: row.get(5)?,
        part,
        own_ms: row.get(7)?,
        rows: row.get(8)?,
        loops: row.get(9)?,
        hit_blocks: blocks(10)?,
        read_blocks: blocks(11)?,
        dirtied_blocks: blocks(12)?,
        io_ms: row.get(13)?,
        functions: rows::json(row, 14)?,
        functions_ms: row.get(15)?,
    };
    Ok((row.get::<_, u32>(0)? as usize, node))
}

fn function(row: &Row<'_>) -> Sqlite<(usize, FunctionTime)> {
    let function = FunctionTime {
        name: row.get(1)?,
        calls: row.get::<_, i64>(2)?.unsigned_abs(),
        self_ms: row.get(3)?,
        part: rows::read_word(row, 4)?,
        booked_ms: row.get(5)?,
    };
    Ok((row.get::<_, u32>(0)? as usize, function))
}

fn layer(row: &Row<'_>) -> Sqlite<(usize, LayerTime)> {
    let layer = LayerTime { name: row.get(1)?, ms: row.get(2)?, source: rows::read_word(row, 3)? };
    Ok((row.get::<_, u32>(0)? as usize, layer))
}

#[cfg(test)]
mod tests {
    use spec::{LayerTimeSource, Run};

    use super::*;
    use crate::fixture::{experiment, finished, host, run, target};
    use crate::table::CellValue;

    #[test]
    fn plans_come_back_as_they_were_and_their_parts_are_a_view() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let (id, _) = store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), false).unwrap();
        let node = |depth, part, own_ms| PlanNode {
            depth,
            part,
            own_ms,
            node_type: format!("{part:?}"),
            index: "i".into(),
            role: "SubPlan 1".into(),
            rows: 2.5,
            loops: 3.0,
            hit_blocks: 4,
            read_blocks: 5,
            dirtied_blocks: 6,
            io_ms: Some(0.25),
            functions: vec!["st_area".into()],
            functions_ms: if part == StatementPart::Aggregate { 0.25 } else { 0.0 },
            relation: "t".into(),
        };
        let function = |(name, booked_ms): (&str, f64)| FunctionTime {
            name: name.into(),
            calls: 7,
            self_ms: 0.5,
            part: StatementPart::of_function(name),
            booked_ms,
        };
        let nodes: Vec<PlanNode> =
            (0..).zip(StatementPart::ALL).map(|(depth, part)| node(depth, part, 0.5)).collect();
        let first = StatementPlan {
            script: "a.sql".into(),
            line: 3,
            draw: 1,
            planning_ms: 1.0,
            execution_ms: 20.0,
            untimed_ms: Some(18.0),
            serialization_ms: Some(2.0),
            triggers_ms: 1.0,
            jit_ms: 0.5,
            evened_ms: 0.01,
            functions_evened_ms: 0.02,
            functions: [("st_area", 0.25), ("box2d", 0.0)].map(function).into(),
            layers: [("roads", 4.5), ("water", 1.0)]
                .map(|(name, ms)| LayerTime { name: name.into(), ms, source: LayerTimeSource::Nested })
                .into(),
            nodes: nodes.into_iter().filter(|node| !NO_NODE.contains(&node.part)).collect(),
        };
        let second =
            StatementPlan { nodes: vec![node(0, StatementPart::Index, 4.0)], ..StatementPlan::default() };
        let plans = vec![first, second];
        let run = Run { plans: plans.clone(), ..run("reads", 4, Some("A"), 1, 1000.0) };
        store.store(id, &[finished(run)]).unwrap();
        assert_eq!(store.runs(id).unwrap()[0].plans, plans);
        for (draw, plan) in [(1, &plans[0]), (0, &plans[1])] {
            let sql = format!(
                "SELECT part, own_ms FROM v_plan_part WHERE draw = {draw} AND own_ms <> 0 ORDER BY 1"
            );
            let mut wanted: Vec<(&str, f64)> =
                plan.parts().into_iter().map(|(part, ms)| (part.name(), ms)).collect();
            wanted.retain(|(_, ms)| *ms != 0.0);
            wanted.sort_by_key(|(part, _)| *part);
            let wanted: Vec<Vec<CellValue>> = wanted
                .iter()
                .map(|(part, ms)| vec![CellValue::Text((*part).to_owned()), CellValue::Real(*ms)])
                .collect();
            assert_eq!(store.query(&sql).unwrap().rows, wanted);
        }
    }

    /// Parts that belong to no node.
    const NO_NODE: [StatementPart; 7] = [
        StatementPart::Planning,
        StatementPart::Geometry,
        StatementPart::Transform,
        StatementPart::Functions,
        StatementPart::Triggers,
        StatementPart::Serialization,
        StatementPart::Outside,
    ];
}
