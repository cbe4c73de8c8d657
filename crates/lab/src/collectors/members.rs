//! Members of a target other than its server: the CPU time of a pooler and of replicas on this machine, and what a
//! Pgpool-II sent to each server.

use engine::EngineResult;
use protocol::postgres::Place;
use protocol::postgres::sql::SqlError;
use server::host::ServerCpu;
use server::pooler::pgpool::{NodeSelects, node_selects};
use spec::Sample;
use spec::figures::{self, Figure, Figures};

use super::Collector;

/// The members of a run.
#[derive(Default)]
pub struct Members<'a> {
    /// First process of the pooler; its children count as it.
    pub pooler: Option<u32>,
    /// Postmasters of replicas.
    pub replicas: Vec<u32>,
    pub balancing: Option<BalancingLook<'a>>,
}

/// A pooler that chooses a server for each read.
pub struct BalancingLook<'a> {
    pub place: Place,
    /// `SELECT` statements of the run by node.
    pub seen: &'a mut Vec<NodeSelects>,
}

pub(super) struct OfMembers<'a> {
    members: Members<'a>,
    began: Vec<Option<ServerCpu>>,
    /// Read while the clients were still connected; empty where the end was not planned.
    at_end: Vec<Option<ServerCpu>>,
    selects: Vec<NodeSelects>,
}

impl<'a> OfMembers<'a> {
    pub(super) fn new(members: Members<'a>) -> Self {
        Self { members, began: Vec::new(), at_end: Vec::new(), selects: Vec::new() }
    }

    /// The pooler first.
    fn cpu(&self) -> Vec<Option<ServerCpu>> {
        let replicas = self.members.replicas.iter().map(|pid| ServerCpu::take(*pid));
        std::iter::once(self.members.pooler.and_then(ServerCpu::take)).chain(replicas).collect()
    }

    /// Empty where nobody chooses, or it does not answer.
    fn selects(&self) -> Vec<NodeSelects> {
        let look = self.members.balancing.as_ref();
        look.and_then(|look| node_selects(&look.place).ok()).unwrap_or_default()
    }
}

impl Collector for OfMembers<'_> {
    fn name(&self) -> &'static str {
        "members"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        (self.began, self.selects) = (self.cpu(), self.selects());
        Ok(())
    }

    fn ending(&mut self) {
        self.at_end = self.cpu();
    }

    fn end(&mut self, _measured: &EngineResult, _samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        let mut figures = Figures::default();
        let since = |(now, before): (Option<ServerCpu>, &Option<ServerCpu>)| now?.seconds_since((*before)?);
        let at_end = std::mem::take(&mut self.at_end);
        let now = if at_end.is_empty() { self.cpu() } else { at_end };
        let used: Vec<Option<f64>> = now.into_iter().zip(&self.began).map(since).collect();
        let mut add = |of: Figure, value: Option<f64>| figures.extend(value.map(|value| (of, value)));
        if let Some((pooler, replicas)) = used.split_first() {
            add(figures::POOLER_CPU_S, *pooler);
            // The sum of some of them would be the CPU of none.
            let all = replicas.iter().copied().sum::<Option<f64>>();
            add(figures::REPLICAS_CPU_S, all.filter(|_| !replicas.is_empty()));
        }
        let sent = since_then(&self.selects(), &self.selects);
        add(figures::BALANCED_TO_REPLICAS_PCT, share_of_replicas(&sent));
        if let Some(look) = &mut self.members.balancing {
            *look.seen = sent;
        }
        Ok(figures)
    }
}

fn since_then(now: &[NodeSelects], before: &[NodeSelects]) -> Vec<NodeSelects> {
    let of = |now: &NodeSelects| {
        let before = before.iter().find(|before| before.node == now.node)?;
        Some(NodeSelects { node: now.node.clone(), selects: now.selects.checked_sub(before.selects)? })
    };
    now.iter().filter_map(of).collect()
}

/// The share of `SELECT` statements that did not go to the primary, percent; `None` without any.
fn share_of_replicas(sent: &[NodeSelects]) -> Option<f64> {
    let sum = |nodes: &mut dyn Iterator<Item = &NodeSelects>| nodes.map(|node| node.selects).sum::<u64>();
    let all = sum(&mut sent.iter());
    let replicas = sum(&mut sent.iter().filter(|node| node.node != "primary"));
    (all > 0).then(|| 100.0 * replicas as f64 / all as f64)
}

/// As text: `Pgpool-II sent 120 SELECT statements to primary, 80 to replica 1`; `None` where nothing is known.
#[must_use]
pub fn balanced_words(sent: &[NodeSelects]) -> Option<String> {
    let each = sent.iter().enumerate().map(|(index, NodeSelects { node, selects })| match index {
        0 => format!("{} to {node}", spec::count(*selects, "SELECT statement")),
        _ => format!("{selects} to {node}"),
    });
    (!sent.is_empty()).then(|| format!("Pgpool-II sent {}", each.collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_counted_since_the_run_began() {
        let nodes = |counts: [u64; 2]| {
            let names = ["primary", "replica 1"].into_iter();
            let node = |(node, selects): (&str, u64)| NodeSelects { node: node.to_owned(), selects };
            names.zip(counts).map(node).collect::<Vec<_>>()
        };
        let sent = since_then(&nodes([1120, 80]), &nodes([1000, 40]));
        assert_eq!(share_of_replicas(&sent), Some(25.0));
        let words = balanced_words(&sent).unwrap();
        assert_eq!(words, "Pgpool-II sent 120 SELECT statements to primary, 40 to replica 1");
        // It was started again: nothing is known.
        assert_eq!(balanced_words(&since_then(&nodes([1, 1]), &nodes([5, 5]))), None);
    }
}
