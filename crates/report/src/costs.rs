//! Costs: each offer of the price list, by the month and by the million, at the measured rates.

use results::{Table, Value};
use serde::Serialize;
use spec::{Price, Prices};

use crate::numbers::money;
use results::ReportData;
use results::cells::CellFigures;
use results::data::levels;

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cost {
    workload: String,
    cell: String,
    arm: Option<String>,
    /// Per second; commands if a transaction has several.
    rate: f64,
    offer: String,
    per_month: f64,
    per_million: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Costs {
    prices: Prices,
    costs: Vec<Cost>,
}

impl Costs {
    pub(crate) fn of(data: &ReportData) -> Option<Self> {
        let prices = data.experiment.plan.plan()?.prices.clone()?;
        let compared = data.experiment.compare_factor.as_deref();
        let mut costs = Vec::new();
        for figures in data.grid.iter().chain(&data.beside) {
            // An offered rate does not show what the machine can do.
            let rate = figures
                .commands_per_s
                .or(figures.tps.mean)
                .filter(|rate| *rate > 0.0 && figures.rate.is_none());
            let Some(rate) = rate.filter(|_| figures.clients > 0) else { continue };
            for (name, offer) in &prices.offer {
                if is_of(offer, figures, compared) {
                    costs.push(Cost {
                        workload: figures.cell.workload.clone(),
                        cell: levels(&figures.cell),
                        arm: figures.arm.clone(),
                        rate,
                        offer: name.clone(),
                        per_month: offer.per_month(prices.hours_per_month),
                        per_million: prices.per_million(offer, rate),
                    });
                }
            }
        }
        (!costs.is_empty()).then_some(Self { prices, costs })
    }

    pub(crate) fn caption(&self) -> String {
        let Prices { date, currency, source, hours_per_month, .. } = &self.prices;
        let source = if source.is_empty() { String::new() } else { format!(", {source}") };
        format!(
            "Prices in {currency} of {date}{source}; a month of {hours_per_month} hours. A million: what that many transactions cost where \
             nothing else is done all month, at the rate measured here. Rate and price belong together only where an offer is the price \
             of the machine that was measured."
        )
    }

    pub(crate) fn sheet(&self) -> Table {
        let mut sheet = Table::captioned(self.caption())
            .text(["workload", "cell", "arm", "offer"])
            .numbers(["per second", "a month", "a million"]);
        for cost in &self.costs {
            sheet.push([
                Value::from(&cost.workload),
                Value::from(&cost.cell),
                Value::from(cost.arm.as_deref().unwrap_or_default()),
                Value::from(&cost.offer),
                Value::from(crate::numbers::figure(cost.rate)),
                Value::from(money(cost.per_month)),
                Value::from(money(cost.per_million)),
            ]);
        }
        sheet
    }
}

fn is_of(offer: &Price, figures: &CellFigures, compared: Option<&str>) -> bool {
    offer.of.iter().all(|(factor, level)| match compared {
        Some(name) if name == factor => figures.arm.as_ref() == Some(level),
        _ => figures.cell.factors.get(factor).is_some_and(|own| own.0 == *level),
    })
}

/// A line for each offer with each cell and arm. Empty without a price list.
#[must_use]
pub fn costs(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "offer",
        "per_s",
        "cost_per_month",
        "cost_per_million",
        "currency",
        "prices_of",
    ]);
    table.optional(["cell", "arm"]);
    let Some(found) = Costs::of(data) else { return table };
    for cost in found.costs {
        table.push(vec![
            cost.workload.into(),
            Some(cost.cell).filter(|cell| !cell.is_empty()).into(),
            cost.arm.into(),
            cost.offer.into(),
            Value::Real(cost.rate),
            Value::Real(cost.per_month),
            Value::Real(cost.per_million),
            found.prices.currency.clone().into(),
            found.prices.date.clone().into(),
        ]);
    }
    table
}
