//! Does a client that waits cost anything? The same rate over 50 and over 5,000 clients of one thread, against a server
//! that answers at once.

use crate::fixed_rate::{self, Crowd};
use crate::sink::Sink;
use crate::{Args, What, page};

const FEW: u32 = 50;
const MANY: u32 = 5000;
/// Transactions per second.
const RATE: u32 = 10_000;

/// CPU per transaction of both, connecting subtracted.
///
/// # Errors
/// As [`fixed_rate::table`].
pub(crate) fn clients(options: &Args) -> anyhow::Result<()> {
    let title = format!("{MANY} clients on one thread, {RATE} transactions/s, against the null sink");
    println!("{}", page::title(options, What::Many, &title, ""));
    let sink = Sink::start(options)?;
    let arguments = |clients| sink.select_one(clients);
    fixed_rate::table(options, &Crowd { many: MANY, few: FEW, rate: RATE, arguments: &arguments, env: &[] })
}
