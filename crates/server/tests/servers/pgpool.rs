//! A private Pgpool-II before a private server and its replica.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::Address;
use protocol::postgres::sql::Sql;
use server::Stop;
use server::control::Control;
use server::home::HomeFolder;
use server::pooler::pgpool::{Pgpool, node_selects};
use server::replica::Replicas;
use server::settings::SettingValues;
use spec::plan::pooler::{Balance, PgpoolOptions};
use spec::plan::topology::{Replication, Topology};
use spec::{Class, Error};

use crate::support::{Place, cluster, eventually, is_alive, kill, not_run, parent_of, watchdog};

fn options(settings: &[(&str, &str)]) -> PgpoolOptions {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    PgpoolOptions { balance: Balance::Statement, settings: settings.collect() }
}

/// No read goes to the primary. What a killed one leaves in the system's shared memory is small.
const SMALL: [(&str, &str); 3] =
    [("backend_weight0", "0"), ("memqcache_total_size", "1MB"), ("memqcache_max_num_cache", "1000")];

fn connect(place: &protocol::postgres::Place) -> Control {
    Control::open(place, Some(Duration::from_secs(10))).unwrap()
}

fn has_pgpool() -> bool {
    let found = Pgpool::installed(&watchdog(), &Stop::new());
    found.inspect_err(|error| not_run(&error.to_string())).is_ok()
}

#[test]
fn reads_go_to_both_servers_and_writes_to_the_primary() {
    if !has_pgpool() {
        return;
    }
    let place = Place::new();
    let primary = cluster(&place);
    primary.connect("postgres").unwrap().execute("CREATE TABLE t (x int)").unwrap();
    let topology = Topology::new(1, Replication::RemoteApply);
    let replicas = Replicas::start(&place.home, &primary, topology, &watchdog(), &Stop::new()).unwrap();
    let mut nodes = vec![primary.place("postgres")];
    nodes.extend(replicas.places("postgres"));
    let session = SettingValues::from([("work_mem".to_owned(), "7MB".to_owned())]);
    let start = |options: &PgpoolOptions| -> Result<Pgpool, Error> {
        Pgpool::start(&place.home, &nodes, options, (2, &session), &watchdog(), &Stop::new())
    };
    let mut pgpool = start(&options(&[])).unwrap();
    let mut client = connect(&pgpool.place("postgres"));
    client.execute("INSERT INTO t VALUES (1)").unwrap();
    for _ in 0..60 {
        assert_eq!(client.scalar("SELECT count(*) FROM t").unwrap().as_deref(), Some("1"));
    }
    assert_eq!(client.scalar("SHOW work_mem").unwrap().as_deref(), Some("7MB"));
    let selects: BTreeMap<String, u64> = node_selects(&pgpool.place("postgres"))
        .unwrap()
        .into_iter()
        .map(|sent| (sent.node, sent.selects))
        .collect();
    assert!(selects["primary"] > 10 && selects["replica 1"] > 10, "{selects:?}");
    pgpool.check().unwrap();
    let Address::Unix(socket) = pgpool.place("postgres").address else { panic!("no socket") };
    let pid = pgpool.pid();
    // Also a client that stays does not keep it from stopping.
    drop(pgpool);
    eventually(Duration::from_secs(5), "it is gone", || !is_alive(pid) && !socket.exists());
    assert_eq!(std::fs::read_dir(place.home.path(HomeFolder::Poolers)).unwrap().count(), 0);

    // A setting that it does not take.
    let error = start(&options(&[("load_balance_weights", "x\u{7}")])).unwrap_err();
    assert_eq!(error.class(), Class::BadInput, "{error}");
    let mut pgpool = start(&options(&SMALL)).unwrap();
    let mut client = connect(&pgpool.place("postgres"));
    (0..20).for_each(|_| drop(client.scalar("SELECT count(*) FROM t").unwrap()));
    let sent = node_selects(&pgpool.place("postgres")).unwrap();
    assert!(sent[1].selects >= 20 && sent[0].selects < 20, "{sent:?}");
    let children = children(pgpool.pid());
    assert!(children.len() > 10, "{children:?}");
    kill(pgpool.pid());
    let start = std::time::Instant::now();
    while pgpool.check().is_ok() {
        assert!(start.elapsed() < Duration::from_secs(5), "it is still taken for alive");
    }
    let error = pgpool.check().unwrap_err();
    assert!(error.to_string().starts_with("pgpool died (signal 9): "), "{error}");
    eventually(Duration::from_secs(10), "its children end with it", || {
        !children.iter().any(|pid| is_alive(*pid))
    });
    replicas.end(&primary).unwrap();
}

fn children(pid: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    pids.filter(|child| parent_of(*child) == Some(pid)).collect()
}
