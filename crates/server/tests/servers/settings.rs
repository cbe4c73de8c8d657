//! Settings on a managed server.

use protocol::postgres::sql::Sql;
use server::settings::{Effort, SettingValues};
use server::{Target, managed};
use spec::{Class, figures};

use crate::support::{Place, cluster, watchdog};

fn target(place: &Place) -> Target {
    drop(cluster(place));
    let options = managed::ServerOptions::default();
    Target::managed(&place.home, "main", &options, &[], &watchdog(), &server::Stop::new()).unwrap()
}

fn wanted(pairs: &[(&str, &str)]) -> SettingValues {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn show(target: &Target, name: &str) -> String {
    target.control().unwrap().scalar(&format!("SHOW {name}")).unwrap().unwrap()
}

#[test]
fn each_setting_takes_the_least_effort() {
    let place = Place::new();
    let mut target = target(&place);
    let pid = target.postmaster();

    let applied = target.apply(&wanted(&[("work_mem", "64MB"), ("search_path", "a, \"B c\"")])).unwrap();
    assert_eq!(applied.effort, Effort::None);
    assert_eq!(show(&target, "work_mem"), "64MB");
    assert_eq!(show(&target, "search_path"), "a, \"B c\"");
    let options = target.environment_for_programs();
    assert_eq!(options[0].1, "-c search_path=a,\\ \"B\\ c\" -c work_mem=64MB");

    let applied = target.apply(&wanted(&[("checkpoint_timeout", "10min"), ("fsync", "off")])).unwrap();
    assert_eq!(applied.effort, Effort::Reload);
    assert_eq!(applied.weakens, ["fsync = off (a crash can destroy the data)"]);
    assert_eq!((show(&target, "fsync"), show(&target, "work_mem")), ("off".into(), "4MB".into()));
    assert_eq!(target.postmaster(), pid);

    let applied = target.apply(&wanted(&[("shared_buffers", "64MB"), ("wal_level", "minimal")])).unwrap();
    assert_eq!(applied.effort, Effort::Restart);
    assert_eq!(applied.added.len(), 1);
    assert_eq!(
        (show(&target, "shared_buffers"), show(&target, "max_wal_senders")),
        ("64MB".into(), "0".into())
    );
    assert_eq!(show(&target, "fsync"), "on");

    assert_eq!(target.restore().unwrap(), Effort::Restart);
    assert_eq!(
        (show(&target, "shared_buffers"), show(&target, "wal_level")),
        ("128MB".into(), "replica".into())
    );
    assert_eq!(target.restore().unwrap(), Effort::None);
}

#[test]
fn refusals_leave_the_server_as_it_was() {
    let place = Place::new();
    let mut target = target(&place);
    let refused = |target: &mut Target, pairs: &[(&str, &str)]| target.apply(&wanted(pairs)).unwrap_err();

    let error = refused(&mut target, &[("fsync", "off"), ("checkpoint_timeout", "1ms")]);
    assert_eq!(error.class(), Class::Guard, "{error}");
    assert!(error.to_string().starts_with("the server refuses "), "{error}");
    assert!(error.to_string().contains("checkpoint_timeout"), "{error}");
    assert_eq!(show(&target, "fsync"), "on");

    let error = refused(&mut target, &[("work_mem", "12 parsecs")]);
    assert_eq!(error.class(), Class::Guard, "{error}");
    assert!(error.to_string().starts_with("the server refuses "), "{error}");

    let error = refused(&mut target, &[("shard_buffers", "1GB")]);
    assert!(error.to_string().contains("did you mean shared_buffers?"), "{error}");

    // More memory than any machine has: the server does not start with it.
    let error = refused(&mut target, &[("shared_buffers", "8000GB")]);
    assert_eq!(error.class(), Class::Guard, "{error}");
    assert!(error.to_string().starts_with("the server refuses "), "{error}");
    assert_eq!(show(&target, "shared_buffers"), "128MB");
}

#[test]
fn settings_of_a_killed_experiment_are_put_back() {
    let place = Place::new();
    let mut server = cluster(&place);
    let mut control = server.connect("postgres").unwrap();
    control.execute("ALTER SYSTEM SET work_mem = '7MB'").unwrap();
    drop(control);
    server::settings::apply_managed(&mut server, "postgres", &wanted(&[("shared_buffers", "64MB")]), false)
        .unwrap();
    // A kill leaves the kept file behind: dropping a bare cluster does the same.
    drop(server);
    let options = managed::ServerOptions::default();
    let server =
        managed::Cluster::ensure(&place.home, "main", &options, &watchdog(), &server::Stop::new()).unwrap();
    let mut control = server.connect("postgres").unwrap();
    assert_eq!(control.scalar("SHOW shared_buffers").unwrap().as_deref(), Some("128MB"));
    assert_eq!(control.scalar("SHOW work_mem").unwrap().as_deref(), Some("7MB"));
}

#[test]
fn memory_is_known_of_our_own_machine() {
    let place = Place::new();
    let target = target(&place);
    let machine = target.machine().unwrap();
    assert!(machine.memory_bytes > 1 << 20 && machine.cores > 0);
    let record = target.record(&mut target.control().unwrap(), std::collections::BTreeMap::new()).unwrap();
    assert_eq!((record.kind.as_str(), record.postgis_version), ("managed", None));
    assert!(!record.server_version.is_empty());
    let host = server::host::describe(target.data_folder().as_deref());
    assert!(host.facts.contains_key("disk_free_bytes"), "{host:?}");
    let sample = server::host::HostSample::take(target.postmaster());
    let figures = server::host::HostSample::take(target.postmaster()).figures_since(&sample);
    assert!(figures.get(figures::SERVER_CPU_S).is_some(), "{figures:?}");
}
