//! The files for container managers, checked against the published schemas.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, finish, not_available};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/many-machines");

/// Where `setup/install manifests` puts it, as root and as another user.
fn kubernetes_validate() -> Option<PathBuf> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools");
    let folders = ["/opt/pgdyno/tools", own];
    let programs = folders.iter().map(|folder| Path::new(folder).join("manifests/bin/kubernetes-validate"));
    programs.into_iter().find(|program| program.exists())
}

#[test]
fn the_indexed_job_is_one_that_kubernetes_takes() {
    let Some(program) = kubernetes_validate() else {
        return not_available("kubernetes-validate", "setup/install manifests");
    };
    let check = |file: &Path| {
        let mut command = Command::new(&program);
        command.arg("--strict").arg(file);
        finish(command)
    };
    let file = Path::new(FILES).join("job.yaml");
    check(&file).expect(0);
    let text = std::fs::read_to_string(&file).expect("it is there");
    let place = Place::new();
    let wrong = place.write("wrong.yaml", text.replace("completionMode", "completionMood"));
    check(&wrong).expect(1);
    // It starts as many parts as it tells each pod.
    assert!(
        text.contains("completions: 4") && text.contains("parallelism: 4") && text.contains("--part=auto/4")
    );
}

#[test]
fn the_composition_is_one_that_compose_takes() {
    if Command::new("docker-compose").arg("version").output().is_err() {
        return not_available("docker-compose", "setup/install manifests");
    }
    let config = |url: Option<&str>| {
        let mut command = Command::new("docker-compose");
        command.args(["--file", &format!("{FILES}/compose.yaml"), "config"]);
        command.env_remove("URL").envs(url.map(|url| ("URL", url)));
        finish(command)
    };
    let shown = config(Some("postgres://me@db/shop")).expect(0).stdout;
    for part in 1..=3 {
        assert!(shown.contains(&format!("PGDYNO_PART: {part}/3")), "{shown}");
    }
    assert_ne!(config(None).status.code(), Some(0), "without a server it says so");
}
