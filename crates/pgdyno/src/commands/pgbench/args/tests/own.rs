//! The options that pgbench does not have.

use std::time::Duration;

use workloads::pgbench::{ClientGroup, HostPolicy};

use super::*;

#[test]
fn own_options() {
    let settings = run_of_line(
        "-S -f fx/good.sql@4 -N --percentiles=50,99.9,50 --format json --results=r.sqlite --warmup 1.5 \
         --startup-script fx/good.sql --group 3=1,2@7 --group=2=3 --hosts=read-write --read-script=2,1 --read-script 2",
    );
    let RunSettings { scripts, load, output, .. } = settings;
    let percentiles: Vec<_> = output.percentiles.iter().map(ToString::to_string).collect();
    assert_eq!(percentiles, ["50", "99.9"]);
    assert_eq!((output.format, load.warmup), (PgbenchFormat::Json, Duration::from_millis(1_500)));
    assert_eq!(output.results.as_deref(), Some("r.sqlite".as_ref()));
    assert_eq!(scripts.startup.map(|script| script.name).as_deref(), Some("fx/good.sql"));
    let groups = [
        ClientGroup { clients: 3, scripts: vec![(0, 1), (1, 7)] },
        ClientGroup { clients: 2, scripts: vec![(2, 1)] },
    ];
    assert_eq!((scripts.groups, load.clients), (groups.to_vec(), 5));
    assert_eq!(scripts.hosts, HostPolicy::ReadWrite { reads: vec![0, 1] });
    let known = run_of(&["-N", "-S", "--hosts", "read-write"]).scripts.hosts;
    assert_eq!(known, HostPolicy::ReadWrite { reads: vec![1] });
    assert_eq!(run_of(&["-f", "fx/good.sql@4", "--group=1=1"]).scripts.groups[0].scripts, [(0, 4)]);
    for (word, wanted) in [("--reconnect", true), ("-C", false)] {
        assert_eq!(run_of(&["-S", word]).workload.reconnect_lost, wanted, "{word}");
    }
    for (word, wanted) in [("--allow", true), ("-n", false)] {
        assert_eq!(run_of(&["-S", word]).preparation.allow_changed_settings, wanted, "{word}");
    }
}

#[test]
fn own_options_refuse_what_cannot_be() {
    let cases: [(&[&str], &str); 23] = [
        (
            &["--client-cpus=x"],
            "invalid value \"x\" for option --client-cpus: expected numbers of CPUs, such as 0,2-3",
        ),
        (&["--percentiles", "50,101"], "invalid value \"50,101\" for option --percentiles: expected numbers"),
        (&["--percentiles="], "invalid value \"\" for option --percentiles"),
        (&["--format=xml"], "invalid value \"xml\" for option --format: expected text, json or lines"),
        (&["--warmup=-1"], "invalid value \"-1\" for option --warmup"),
        (&["--warmup=nan"], "invalid value \"nan\" for option --warmup"),
        (&["--warmup=1e300"], "invalid value \"1e300\" for option --warmup"),
        (&["--results="], "invalid value \"\" for option --results"),
        (&["--startup-script=no"], "could not open file \"no\": No such file or directory"),
        (&["--startup-script=fx/bad.sql"], "fx/bad.sql:1: syntax error in command \"set\""),
        (&["--group=1"], "invalid value \"1\" for option --group"),
        (&["--group=0=1"], "invalid value \"0=1\" for option --group"),
        (&["--group=1=0"], "invalid value \"1=0\" for option --group"),
        (&["--group=1=1@x"], "invalid value \"1=1@x\" for option --group"),
        (&["--group=1=2"], "--group names script 2, but there is 1 script"),
        (&["--group=1=1,1"], "--group names script 1 twice"),
        (&["--group=1=1@0"], "total script weight of a group (--group) must not be zero"),
        (&["--group=2=1", "-c3"], "groups (--group) have 2 clients, but -c/--client is 3"),
        (&["--hosts=any"], "invalid value \"any\" for option --hosts"),
        (&["--read-script=1"], "--read-script is allowed only with --hosts read-write"),
        (&["--hosts=read-write"], "--hosts read-write needs to know which scripts only read"),
        (&["-i", "--warmup=1"], "--warmup cannot be used in initialization (-i) mode"),
        (&["--init-jobs=2"], "--init-jobs cannot be used in benchmarking mode"),
    ];
    for (words, wanted) in cases {
        let errors = errors_of(words, &Fake::default());
        assert!(errors[0].starts_with(wanted), "{words:?}: {errors:?}");
    }
}
