//! Facts about the server and its host that are available over SQL.

use protocol::postgres::sql::{Sql, quote_literal};

use super::record::ProbeFact;

/// Settings that figures depend on, each with what it affects.
const SETTINGS: &[&str] = &[
    "shared_buffers",
    "huge_pages_status",
    "huge_pages",
    "fsync",
    "synchronous_commit",
    "synchronous_standby_names",
    "wal_sync_method",
    "wal_level",
    "full_page_writes",
    "data_checksums",
    "io_method",
    "io_combine_limit",
    "max_connections",
    "ssl",
];

/// Most bytes read of a kernel file: a line for each of a thousand CPUs.
const LONGEST: u32 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct HostFacts {
    pub(super) cpus: Option<u32>,
    pub(super) cache_bytes: Option<u64>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) available_bytes: Option<u64>,
    pub(super) load: Option<f64>,
    /// Why its files cannot be read, if so.
    pub(super) closed: Option<String>,
}

/// CPU time of the host so far, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Ticks {
    all: u64,
    steal: u64,
}

/// Reads facts about the server, and about its host if the role may read files there.
pub(super) fn read(sql: &mut dyn Sql) -> (HostFacts, Vec<ProbeFact>) {
    let mut facts = vec![match sql.scalar("SELECT version()") {
        Ok(version) => ProbeFact::known("server", version.unwrap_or_default()),
        Err(error) => ProbeFact::unknown("server", error.text),
    }];
    let closed = closed(sql);
    let mut host = HostFacts { closed: closed.clone(), ..HostFacts::default() };
    match closed {
        Some(why) => {
            let names = ["CPU", "CPUs", "memory", "load", "steal"];
            facts.extend(names.map(|name| ProbeFact::unknown(name, why.clone())));
        }
        None => facts.extend(host.read(sql)),
    }
    facts.extend(settings(sql));
    (host, facts)
}

fn settings(sql: &mut dyn Sql) -> Vec<ProbeFact> {
    let names: Vec<String> = SETTINGS.iter().map(|name| quote_literal(name)).collect();
    let query = format!(
        "SELECT name, current_setting(name) FROM pg_catalog.pg_settings WHERE name IN ({})",
        names.join(", ")
    );
    let rows = sql.rows(&query).unwrap_or_default();
    let value = |name: &str| {
        let row = rows.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name))?;
        row.get(1).cloned().flatten().filter(|value| !value.is_empty())
    };
    // If the server reports the state, that replaces the wish.
    let is_wanted = |name: &&&str| **name != "huge_pages" || value("huge_pages_status").is_none();
    SETTINGS.iter().filter(is_wanted).filter_map(|name| Some(ProbeFact::known(name, value(name)?))).collect()
}

/// Why files of the host cannot be read, asked without causing an error in the server's log.
fn closed(sql: &mut dyn Sql) -> Option<String> {
    let ask = "SELECT has_function_privilege('pg_catalog.pg_read_file(text, bigint, bigint, boolean)', 'EXECUTE') \
               AND pg_has_role('pg_read_server_files', 'USAGE')";
    match sql.scalar(ask) {
        Ok(Some(may)) if may == "t" => None,
        Ok(_) => Some("the role may not read files of the host by pg_read_file".to_owned()),
        Err(error) => Some(error.text),
    }
}

fn read_file(sql: &mut dyn Sql, path: &str) -> Result<String, String> {
    // A missing file causes no error in the server's log.
    let found =
        sql.scalar(&format!("SELECT pg_catalog.pg_read_file({}, 0, {LONGEST}, true)", quote_literal(path)));
    match found {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(format!("there is no {path}")),
        Err(error) => Err(error.text.lines().next().unwrap_or_default().replacen("ERROR:  ", "", 1)),
    }
}

impl HostFacts {
    fn read(&mut self, sql: &mut dyn Sql) -> Vec<ProbeFact> {
        let cpuinfo = read_file(sql, "/proc/cpuinfo").map(|text| Cpu::of(&text));
        let groups = read_file(sql, "/proc/self/cgroup").unwrap_or_default();
        let quota = quota_files(&groups).iter().filter_map(|path| quota(&read_file(sql, path).ok()?)).min();
        let meminfo = read_file(sql, "/proc/meminfo");
        let load = read_file(sql, "/proc/loadavg");
        let mut facts = Vec::new();
        match cpuinfo {
            Ok(cpu) => {
                let cpus = quota.map_or(cpu.cpus, |quota| quota.min(cpu.cpus));
                self.cpus = Some(cpus).filter(|cpus| *cpus > 0);
                self.cache_bytes = cpu.cache_bytes;
                let cache = cpu.cache_bytes.map(|bytes| format!(", {} of cache", mb(bytes)));
                facts.push(ProbeFact::known("CPU", cpu.model + &cache.unwrap_or_default()));
                let limited = if cpus < cpu.cpus {
                    format!(" (of {}, by the cgroup)", cpu.cpus)
                } else {
                    String::new()
                };
                facts.push(ProbeFact::known("CPUs", format!("{cpus}{limited}")));
            }
            Err(why) => facts.extend(["CPU", "CPUs"].map(|name| ProbeFact::unknown(name, why.clone()))),
        }
        match meminfo {
            Ok(text) => {
                self.memory_bytes = meminfo_bytes(&text, "MemTotal:");
                self.available_bytes = meminfo_bytes(&text, "MemAvailable:");
                let [total, available] =
                    [self.memory_bytes, self.available_bytes].map(|bytes| bytes.map_or("?".to_owned(), mb));
                facts.push(ProbeFact::known("memory", format!("{total}, {available} available")));
            }
            Err(why) => facts.push(ProbeFact::unknown("memory", why)),
        }
        match load {
            Ok(text) => {
                self.load = text.split_whitespace().next().and_then(|load| load.parse().ok());
                let load = text.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
                facts.push(ProbeFact::known(
                    "load",
                    format!("{load} (1, 5 and 15 minutes, before the probe)"),
                ));
            }
            Err(why) => facts.push(ProbeFact::unknown("load", why)),
        }
        facts
    }

    pub(super) fn ticks(&self, sql: &mut dyn Sql) -> Result<Ticks, String> {
        match &self.closed {
            Some(why) => Err(why.clone()),
            None => {
                Ticks::of(&read_file(sql, "/proc/stat")?).ok_or_else(|| "no cpu in /proc/stat".to_owned())
            }
        }
    }
}

/// From `/proc/cpuinfo`.
#[derive(Debug, PartialEq, Default)]
struct Cpu {
    model: String,
    cpus: u32,
    cache_bytes: Option<u64>,
}

impl Cpu {
    fn of(text: &str) -> Self {
        let mut cpu = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            match (name.trim(), value.trim()) {
                ("processor", _) => cpu.cpus += 1,
                ("model name" | "Model", value) if cpu.model.is_empty() => value.clone_into(&mut cpu.model),
                ("cache size", value) => {
                    let kb = value.strip_suffix(" KB").and_then(|kb| kb.parse::<u64>().ok());
                    cpu.cache_bytes = kb.map(|kb| kb << 10);
                }
                _ => {}
            }
        }
        if cpu.model.is_empty() {
            "of no name".clone_into(&mut cpu.model);
        }
        cpu
    }
}

/// Paths of the quotas of a process with these groups (`/proc/PID/cgroup`, version 2): its own and those
/// above it.
fn quota_files(groups: &str) -> Vec<String> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").trim_end_matches('/');
    let ends = group.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| at);
    let folders = ends.chain([group.len()]).map(|end| &group[..end]);
    folders.map(|folder| format!("/sys/fs/cgroup{folder}/cpu.max")).collect()
}

/// CPUs that a cgroup (version 2) may use, if limited: `200000 100000`.
fn quota(text: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    let (quota, period) = (words.next()?.parse::<f64>().ok()?, words.next()?.parse::<f64>().ok()?);
    (period > 0.0).then(|| (quota / period).ceil() as u32)
}

fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kb| kb << 10)
}

impl Ticks {
    /// From `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; guests' time is in the first
    /// two.
    fn of(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
        Some(Self { all: ticks.iter().sum(), steal: ticks.get(7).copied().unwrap_or(0) })
    }

    /// The share that the hypervisor took since then, percent.
    pub(super) fn steal_pct_since(self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        Some(self.steal.saturating_sub(before.steal) as f64 / all as f64 * 100.0)
    }
}

/// In MB, from 10 GB on in GB, as in PostgreSQL.
pub(super) fn mb(bytes: u64) -> String {
    match bytes >> 20 {
        mb if mb >= 10 << 10 => format!("{:.1} GB", bytes as f64 / f64::from(1 << 30)),
        mb => format!("{mb} MB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    #[test]
    fn a_host_is_read_through_its_files() {
        let mut sql = FakeSql::new();
        sql.answer("version()", &[&["PostgreSQL 17.2"]]);
        sql.answer("has_function_privilege", &[&["t"]]);
        let cpu = "processor\t: 0\nmodel name\t: Xeon\ncache size\t: 32768 KB\n\nprocessor\t: 1\nmodel name\t: Xeon\n";
        sql.answer("/proc/cpuinfo", &[&[cpu]]);
        sql.answer("/proc/self/cgroup", &[&["0::/system.slice/postgresql.service\n"]]);
        sql.answer("system.slice/cpu.max", &[&["100000 100000"]]);
        sql.answer("postgresql.service/cpu.max", &[&["max 100000"]]);
        sql.answer("/proc/meminfo", &[&["MemTotal:       2048000 kB\nMemAvailable:   1024000 kB\n"]]);
        sql.answer("/proc/loadavg", &[&["0.50 0.40 0.30 1/100 4711"]]);
        sql.answer("pg_settings", &[&["huge_pages", "try"], &["fsync", "on"], &["ssl", ""]]);
        let (host, facts) = read(&mut sql);
        assert_eq!((host.cpus, host.cache_bytes, host.load), (Some(1), Some(32 << 20), Some(0.5)));
        let shown: Vec<String> =
            facts.iter().map(|fact| format!("{}: {}", fact.name, fact.value.as_deref().unwrap())).collect();
        assert_eq!(
            shown,
            [
                "server: PostgreSQL 17.2",
                "CPU: Xeon, 32 MB of cache",
                "CPUs: 1 (of 2, by the cgroup)",
                "memory: 2000 MB, 1000 MB available",
                "load: 0.50 0.40 0.30 (1, 5 and 15 minutes, before the probe)",
                "huge_pages: try",
                "fsync: on",
            ]
        );
    }

    #[test]
    fn quotas_stand_in_the_own_group_and_in_those_above() {
        assert_eq!(quota_files("0::/\n"), ["/sys/fs/cgroup/cpu.max"]);
        assert_eq!(quota_files(""), ["/sys/fs/cgroup/cpu.max"]);
        assert_eq!(
            quota_files("3:cpu:/x\n0::/a/b\n"),
            ["/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/a/cpu.max", "/sys/fs/cgroup/a/b/cpu.max"]
        );
    }

    #[test]
    fn what_may_not_be_read_says_why() {
        let mut sql = FakeSql::new();
        sql.answer("has_function_privilege", &[&["f"]]);
        let (host, facts) = read(&mut sql);
        assert_eq!(host.cpus, None);
        let unknown = facts.iter().filter(|fact| fact.value.is_err()).count();
        assert_eq!(unknown, 5);
        assert!(!sql.asked.iter().any(|asked| asked.contains("/proc")), "{:?}", sql.asked);
    }

    #[test]
    fn steal_is_a_share_of_all_time() {
        let before = Ticks::of("cpu  100 0 0 100 0 0 0 10 0 0\ncpu0 1 2 3").unwrap();
        let after = Ticks::of("cpu  150 0 0 130 0 0 0 30 7 7\n").unwrap();
        assert_eq!(after.steal_pct_since(before), Some(20.0));
        assert_eq!(after.steal_pct_since(after), None);
    }
}
