//! Costs: each offer of the price list, by the month and by the million, at the measured rates.

use results::Table;
use results::cells::CellFigures;
use results::data::levels;
use results::{CellValue, ReportData};
use spec::{Price, Prices};

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
    let Some(prices) = data.experiment.plan.plan().and_then(|plan| plan.prices.as_ref()) else {
        return table;
    };
    let compared = data.experiment.compare_factor.as_deref();
    for figures in data.grid().iter().chain(data.beside()) {
        // An offered rate does not show what the machine can do.
        let measured = figures.commands_per_s.or(figures.tps.mean);
        let shows = |rate: &f64| *rate > 0.0 && figures.rate.is_none() && figures.clients > 0;
        let Some(rate) = measured.filter(shows) else { continue };
        for (name, offer) in prices.offer.iter().filter(|(_, offer)| is_of(offer, figures, compared)) {
            table.push([
                (&figures.cell.workload).into(),
                Some(levels(&figures.cell)).filter(|cell| !cell.is_empty()).into(),
                figures.arm.clone().into(),
                name.into(),
                CellValue::Real(rate),
                CellValue::Real(offer.per_month(prices.hours_per_month)),
                CellValue::Real(prices.per_million(offer, rate)),
                (&prices.currency).into(),
                (&prices.date).into(),
            ]);
        }
    }
    table
}

/// The same for a page; `None` without costs.
pub(crate) fn on_page(data: &ReportData) -> Option<Table> {
    let Prices { date, currency, source, hours_per_month, .. } =
        data.experiment.plan.plan()?.prices.as_ref()?;
    let source = if source.is_empty() { String::new() } else { format!(", {source}") };
    let caption = format!(
        "Prices in {currency} of {date}{source}; a month of {hours_per_month} hours. A million: what that many transactions cost where \
         nothing else is done all month, at the rate measured here. Rate and price belong together only where an offer is the price \
         of the machine that was measured."
    );
    let columns = ["workload", "cell", "arm", "offer", "per_s", "cost_per_month", "cost_per_million"];
    let table = costs(data).select(&columns);
    (!table.rows.is_empty()).then_some(Table { caption, ..table })
}

fn is_of(offer: &Price, figures: &CellFigures, compared: Option<&str>) -> bool {
    offer.of.iter().all(|(factor, level)| match compared {
        Some(name) if name == factor => figures.arm.as_ref() == Some(level),
        _ => figures.cell.factors.get(factor).is_some_and(|own| own.0 == *level),
    })
}
