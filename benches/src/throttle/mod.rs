//! Is a machine that changes under the test noticed? A private server is really slowed down in mid-run, and what the built
//! program says of the run is counted; so are false alarms of runs in which nothing was done. The rules: docs/run-verdicts.md.

mod disturb;
mod group;
mod simulated;

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Context;
use target::host::HostSample;
use target::managed::SUPERUSER;

use self::disturb::{Disturbance, Kind};
use crate::server::{Server, Way};
use crate::{Args, Missing, What, child, page, quiet, stop};

/// Seconds of a run, of its warm-up, and from the program's start to the disturbance: in mid-run, wherever that is exactly.
const RUN_S: u32 = 13;
const WARMUP_S: u32 = 1;
const UNTIL: Duration = Duration::from_secs(8);
/// Runs in which nothing is done, for each kind of disturbance and repetition.
const CALM: u32 = 50;
const EACH: u32 = 4;
/// Steal, percent, below which a run is one in which nothing happened.
const CALM_PCT: f64 = 1.0;
const CLIENTS: u32 = 4;
/// Work for the server, little for the client: what its processor does shows.
const SCRIPT: &str = "\\set aid random(1, 100000)\n\
    SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 2000;\n";
/// A role that may do no more than anybody: what is seen with it is seen with nothing but port 5432.
const PLAIN: &str = "plain";

/// What was said of a run.
struct Said {
    /// Behind `verdict = `.
    verdict: String,
    /// What the hypervisor took meanwhile, percent.
    steal_pct: f64,
}

impl Said {
    fn names(&self, reason: &str) -> bool {
        self.verdict.contains(reason)
    }

    /// Any of the machine's reasons.
    fn is_named(&self) -> bool {
        ["throttled", "unsteady", "CPU steal"].iter().any(|reason| self.names(reason))
    }
}

/// A table of runs that were disturbed, and one of those that were not.
///
/// # Errors
/// The server does not come about, or the program fails.
pub(crate) fn notice(options: &Args) -> anyhow::Result<()> {
    let each = options.pairs.unwrap_or(EACH);
    println!("{}", page::title(options, What::Throttle, "Machines that change under the test", ""));
    println!("Runs of {RUN_S} s, {CLIENTS} clients; every other run as a role without rights.\n");
    let server = Server::start(options, Way::Socket, 5, CLIENTS)?;
    server.execute(&format!("CREATE ROLE {PLAIN} LOGIN"))?;
    server.execute(&format!("GRANT ALL ON ALL TABLES IN SCHEMA public TO {PLAIN}"))?;
    println!("| what happened in mid-run | runs | **named** | throttled | unsteady | CPU steal | unnamed |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | --- |");
    for kind in Kind::ALL {
        match disturbed(options, &server, kind, each) {
            Ok(said) => println!("{}", row(kind.words(), &said)),
            Err(error) if error.is::<Missing>() => println!("| {} | {error} | | | | | |", kind.words()),
            Err(error) => return Err(error),
        }
    }
    let credits = simulated::credits(each * Kind::ALL.len() as u32);
    println!("| simulated: a t2.micro's credits end, seen with steal or by the probe alone | {credits} |");
    calm(options, &server)
}

fn disturbed(options: &Args, server: &Server, kind: Kind, each: u32) -> anyhow::Result<Vec<Said>> {
    (0..each).map(|number| run(options, server, Some(kind), number)).collect()
}

fn row(what: &str, said: &[Said]) -> String {
    let count = |reason: &str| said.iter().filter(|said| said.names(reason)).count();
    let named = said.iter().filter(|said| said.is_named()).count();
    let unnamed: Vec<&str> =
        said.iter().filter(|said| !said.is_named()).map(|said| said.verdict.as_str()).collect();
    format!(
        "| {what} | {} | **{named}** | {} | {} | {} | {} |",
        said.len(),
        count("throttled"),
        count("unsteady"),
        count("CPU steal"),
        unnamed.join("; ")
    )
}

/// Runs in which nothing is done; where the host disturbs too many of them, the rest is simulated.
fn calm(options: &Args, server: &Server) -> anyhow::Result<()> {
    let wanted = options.pairs.map_or(CALM, |pairs| CALM * pairs / EACH).max(1);
    let mut said = Vec::new();
    for number in 0..wanted {
        said.push(run(options, server, None, number)?);
    }
    let (calm, disturbed): (Vec<Said>, Vec<Said>) =
        said.into_iter().partition(|said| said.steal_pct < CALM_PCT);
    let alarms: Vec<&Said> = calm.iter().filter(|said| said.is_named()).collect();
    println!(
        "\nNothing was done in {wanted} runs. Of the {} whose steal stayed below {CALM_PCT} %, **{}** were named all the \
         same; of the {} others, {}.",
        calm.len(),
        alarms.len(),
        disturbed.len(),
        disturbed.iter().filter(|said| said.is_named()).count()
    );
    for said in alarms {
        println!("- {:.1} % steal: {}", said.steal_pct, said.verdict);
    }
    let rest = disturbed.len() as u32;
    if rest > 0 {
        println!("\nIn place of those, simulated: {} of {rest} named.", simulated::false_alarms(rest));
    }
    Ok(())
}

/// A run, disturbed from its middle to its end.
fn run(options: &Args, server: &Server, kind: Option<Kind>, number: u32) -> anyhow::Result<Said> {
    quiet::wait(options.patience());
    let mut dsn = server.dsn()?.to_owned();
    if number % 2 == 1 {
        dsn = dsn.replace(&format!("user={SUPERUSER}"), &format!("user={PLAIN}"));
    }
    let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let script = folder.path().join("sum.sql");
    std::fs::write(&script, SCRIPT)?;
    let script = script.display().to_string();
    let results = folder.path().join("results.sqlite").display().to_string();
    let time = [WARMUP_S.to_string(), RUN_S.to_string(), CLIENTS.to_string()];
    let [warmup, seconds, clients] = &time;
    let words = [
        "bench",
        "-f",
        &script,
        "-n",
        "--warmup",
        warmup,
        "-T",
        seconds,
        "-c",
        clients,
        "--results",
        &results,
        &dsn,
    ];
    let words: Vec<OsString> = words.iter().map(Into::into).collect();
    let disturbance = kind.map(|kind| Disturbance::prepare(kind, server)).transpose()?;
    let before = HostSample::take(None);
    let program = child::start(&options.pgdyno.canonicalize()?, &words, &[], None)?;
    let under_way = disturbance.map(|disturbance| {
        std::thread::sleep(UNTIL);
        disturbance.begin()
    });
    let ran = program.finish();
    // What was slowed down is let go whatever became of the run.
    let ended = under_way.map(|under_way| under_way.and_then(disturb::UnderWay::end)).transpose();
    let ran = ran?;
    ended?;
    stop::check()?;
    let steal_pct = HostSample::take(None).figures_since(&before).get("steal_pct").copied().unwrap_or(0.0);
    let verdict = ran.output.lines().find_map(|line| line.strip_prefix("verdict = "));
    let verdict = verdict.with_context(|| format!("no verdict in:\n{}", ran.output))?.to_owned();
    Ok(Said { verdict, steal_pct })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_what_was_named() {
        let said = |verdict: &str| Said { verdict: verdict.into(), steal_pct: 0.0 };
        let all = [
            said("suspect: throttled: from 100 to 50; CPU steal: 4 %"),
            said("suspect: unsteady: from 100 to 50"),
            said("valid"),
        ];
        assert_eq!(row("quota", &all), "| quota | 3 | **2** | 1 | 1 | 1 | valid |");
    }
}
