//! The machine under test, seen through its server: the query of fixed cost from time to time and, for a
//! remote server whose files the role may read, the counters of its kernel.

use protocol::postgres::sql::{Sql, quote_literal};
use server::host::{HostSample, quota_files};
use spec::figures::{self, Figure, Figures};
use spec::{Sample, Scope};

use crate::fixed_cost;

const EVERY_US: i64 = 10_000_000;
/// The query takes at most this share of the time.
const SHARE: f64 = 0.001;
pub(super) const NAME: &str = "machine";
/// Most bytes read of a file.
const LONGEST: u32 = 4096;

pub(super) struct Machine {
    files: Option<Files>,
    began: Option<HostSample>,
    last: Option<HostSample>,
    next_us: i64,
    /// Statements so far, which the server's own counters include.
    pub(super) asked: u32,
}

impl Machine {
    /// Starts the measured part; `elsewhere` means that the server's machine is visible only through it.
    pub(super) fn begin(sql: &mut dyn Sql, elsewhere: bool) -> Self {
        let files = if elsewhere { Files::of(sql) } else { None };
        let began = files.as_ref().and_then(|files| files.read(sql));
        Self { files, began, last: began, next_us: EVERY_US, asked: 0 }
    }

    pub(super) fn tick(&mut self, sql: &mut dyn Sql, time_us: i64, samples: &mut Vec<Sample>) {
        if time_us < self.next_us {
            return;
        }
        let mut add = |name: &str, value| {
            let (source, name) = (NAME.to_owned(), name.to_owned());
            samples.push(Sample { scope: Scope::Run, source, name, time_us, value });
        };
        let probe_ms = fixed_cost::once_ms(sql);
        self.asked += 1;
        probe_ms.into_iter().for_each(|ms| add("probe_ms", ms));
        let now = self.files.as_ref().and_then(|files| files.read(sql));
        self.asked += u32::from(self.files.is_some());
        if let Some((now, last)) = now.zip(self.last) {
            of_server(&now, &last).iter().for_each(|(name, value)| add(name, value));
            self.last = Some(now);
        }
        let seldom_us = probe_ms.unwrap_or_default() * 1e3 / SHARE;
        self.next_us = time_us + EVERY_US.max(seldom_us as i64);
    }

    pub(super) fn end(&mut self, sql: &mut dyn Sql) -> Figures {
        let now = self.files.as_ref().and_then(|files| files.read(sql));
        now.zip(self.began).map(|(now, began)| of_server(&now, &began)).unwrap_or_default()
    }
}

/// Figures of this machine, and the matching ones of the server's.
const OF_SERVER: [(Figure, Figure); 5] = [
    (figures::STEAL_PCT, figures::SERVER_STEAL_PCT),
    (figures::IOWAIT_PCT, figures::SERVER_IOWAIT_PCT),
    (figures::CPU_BUSY_PCT, figures::SERVER_CPU_BUSY_PCT),
    (figures::CPU_PRESSURE_PCT, figures::SERVER_CPU_PRESSURE_PCT),
    (figures::SERVER_THROTTLED_PCT, figures::SERVER_THROTTLED_PCT),
];

fn of_server(now: &HostSample, before: &HostSample) -> Figures {
    let seen = now.figures_since(before);
    OF_SERVER.into_iter().filter_map(|(here, of)| Some((of, seen.get(here)?))).collect()
}

struct Files {
    query: String,
}

impl Files {
    /// The files that the role may read; `None` if there are none.
    fn of(sql: &mut dyn Sql) -> Option<Self> {
        let may = "SELECT pg_catalog.pg_has_role('pg_read_server_files', 'USAGE') AND \
                   pg_catalog.has_function_privilege('pg_catalog.pg_read_file(text, bigint, bigint, boolean)', 'EXECUTE')";
        sql.scalar(may).ok().flatten().filter(|may| may == "t")?;
        let groups = sql.scalar(&format!("SELECT {}", read("/proc/self/cgroup"))).ok()?.unwrap_or_default();
        let quotas = quota_files(&groups);
        let columns = ["/proc/stat".to_owned(), "/proc/pressure/cpu".to_owned()].into_iter();
        let columns = columns.chain(quotas.iter().map(|file| file.display().to_string()));
        let columns: Vec<String> = columns.map(|file| read(&file)).collect();
        Some(Self { query: format!("SELECT {}", columns.join(", ")) })
    }

    fn read(&self, sql: &mut dyn Sql) -> Option<HostSample> {
        let row = sql.rows(&self.query).ok()?.into_iter().next()?;
        let texts: Vec<&str> = row.iter().map(|text| text.as_deref().unwrap_or_default()).collect();
        let (stat, pressure, quotas) = (texts.first()?, texts.get(1)?, texts.get(2..)?);
        (!stat.is_empty()).then(|| HostSample::read(stat, pressure, quotas))
    }
}

/// The beginning of a file as text; NULL if missing.
fn read(file: &str) -> String {
    format!("pg_catalog.pg_read_file({}, 0, {LONGEST}, true)", quote_literal(file))
}

#[cfg(test)]
mod tests {
    use protocol::postgres::sql::{ResultSet, SqlError, Supply};

    use super::*;

    /// A remote server; at each reading its clock is a second further.
    struct Elsewhere {
        may: bool,
        looks: u64,
        asked: Vec<String>,
    }

    impl Sql for Elsewhere {
        fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
            self.asked.push(sql.to_owned());
            let row = if sql.contains("pg_has_role") {
                vec![if self.may { "t" } else { "f" }.to_owned()]
            } else if sql.contains("EXPLAIN") {
                vec!["Execution Time: 4.000 ms".to_owned()]
            } else if sql.contains("'/proc/self/cgroup'") {
                vec!["0::/pod\n".to_owned()]
            } else {
                self.looks += 1;
                let k = self.looks;
                let stat = format!("cpu  {} 0 0 {} 0 0 0 {}\n", 80 * k, 10 * k, 10 * k);
                let quota = format!("nr_periods {}\nnr_throttled {}\n", 10 * k, 2 * k);
                vec![stat, format!("some total={}\n", 1000 * k), quota, String::new()]
            };
            let columns = row.iter().map(|_| "column".to_owned()).collect();
            Ok(vec![ResultSet {
                columns,
                rows: vec![row.into_iter().map(Some).collect()],
                types: Vec::new(),
                tag: String::new(),
            }])
        }

        fn copy_in(&mut self, _: &str, _: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
            Err(SqlError::default())
        }
    }

    fn elsewhere(may: bool) -> Elsewhere {
        Elsewhere { may, looks: 0, asked: Vec::new() }
    }

    #[test]
    fn a_server_elsewhere_is_looked_at_through_its_files() {
        let mut sql = elsewhere(true);
        let mut machine = Machine::begin(&mut sql, true);
        let mut samples = Vec::new();
        for second in 1..=25 {
            machine.tick(&mut sql, second * 1_000_000, &mut samples);
        }
        let probes: Vec<_> = samples.iter().filter(|sample| sample.name == "probe_ms").collect();
        assert_eq!(probes.iter().map(|sample| sample.time_us).collect::<Vec<_>>(), [10_000_000, 20_000_000]);
        let figures = machine.end(&mut sql);
        assert_eq!(
            (figures[figures::SERVER_STEAL_PCT], figures[figures::SERVER_THROTTLED_PCT]),
            (10.0, 20.0)
        );
        assert_eq!(machine.asked, 4);
    }

    #[test]
    fn without_the_right_it_is_asked_for_the_query_alone() {
        let mut sql = elsewhere(false);
        let mut machine = Machine::begin(&mut sql, true);
        let mut samples = Vec::new();
        machine.tick(&mut sql, 10_000_000, &mut samples);
        assert!(machine.end(&mut sql).is_empty());
        assert_eq!(samples.len(), 1);
        assert!(!sql.asked.iter().any(|asked| asked.contains("/proc")), "nothing is tried that is refused");
        let mut here = elsewhere(true);
        Machine::begin(&mut here, false);
        assert!(here.asked.is_empty(), "this machine is looked at without the server");
    }

    /// 4 ms every 10 s is 0.04 %; a slow or busy server is asked less often.
    #[test]
    fn the_query_takes_less_than_a_thousandth_of_the_time() {
        struct Slow(f64);
        impl Sql for Slow {
            fn query(&mut self, _: &str) -> Result<Vec<ResultSet>, SqlError> {
                let row = vec![Some(format!("Execution Time: {:.3} ms", self.0))];
                Ok(vec![ResultSet {
                    columns: vec!["plan".into()],
                    rows: vec![row],
                    types: Vec::new(),
                    tag: String::new(),
                }])
            }

            fn copy_in(
                &mut self,
                _: &str,
                _: &mut dyn FnMut(&mut Vec<u8>) -> Supply,
            ) -> Result<u64, SqlError> {
                Err(SqlError::default())
            }
        }
        for (ms, wanted) in [(4.0, 10), (10.0, 10), (30.0, 4), (500.0, 1)] {
            let mut sql = Slow(ms);
            let mut machine = Machine::begin(&mut sql, false);
            let mut samples = Vec::new();
            (1..=100).for_each(|second| machine.tick(&mut sql, second * 1_000_000, &mut samples));
            assert_eq!(samples.len(), wanted, "{ms} ms");
        }
    }
}
