//! Programs that commands start, and the package of each.

use server::Stop;
use server::child::Watchdog;
use server::installed::{self, Packages};
use server::managed::Installation;
use server::tile_server::Installed;
use spec::plan::tile_server;
use spec::plan::tile_server::TileServerKind;

/// A program that some commands need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededProgram {
    pub name: &'static str,
    /// Its version, or its path if it reports none; `None` if missing.
    pub found: Option<String>,
    pub needed_for: &'static str,
    pub install: Install,
}

/// How to install a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Install {
    Package(String),
    Command(&'static str),
    Unknown,
}

/// A packaged program: its names, then the packages of Debian, Fedora, Alpine, Arch and Homebrew.
struct PackagedProgram {
    name: &'static str,
    programs: &'static [&'static str],
    packages: [&'static str; 5],
    needed_for: &'static str,
}

const KNOWN: [PackagedProgram; 8] = [
    PackagedProgram {
        name: "osm2pgsql",
        programs: &["osm2pgsql"],
        packages: ["osm2pgsql", "osm2pgsql", "osm2pgsql", "osm2pgsql", "osm2pgsql"],
        needed_for: "osm load, tiles --osm",
    },
    PackagedProgram {
        name: "redis-server",
        programs: &["redis-server", "valkey-server"],
        packages: ["redis-server", "redis", "redis", "redis", "redis"],
        needed_for: "experiments with Redis",
    },
    PackagedProgram {
        name: "PgBouncer",
        programs: &["pgbouncer"],
        packages: ["pgbouncer", "pgbouncer", "pgbouncer", "pgbouncer", "pgbouncer"],
        needed_for: "experiments with a pooler",
    },
    PackagedProgram {
        name: "Pgpool-II",
        programs: &["pgpool"],
        packages: ["pgpool2", "pgpool-II", "pgpool", "", "pgpool-ii"],
        needed_for: "experiments that spread reads over replicas",
    },
    PackagedProgram {
        name: "mkfs.ext4",
        programs: &["mkfs.ext4"],
        packages: ["e2fsprogs", "e2fsprogs", "e2fsprogs", "e2fsprogs", ""],
        needed_for: "experiments on ext4",
    },
    PackagedProgram {
        name: "mkfs.xfs",
        programs: &["mkfs.xfs"],
        packages: ["xfsprogs", "xfsprogs", "xfsprogs", "xfsprogs", ""],
        needed_for: "experiments on xfs",
    },
    PackagedProgram {
        name: "mkfs.btrfs",
        programs: &["mkfs.btrfs"],
        packages: ["btrfs-progs", "btrfs-progs", "btrfs-progs", "btrfs-progs", ""],
        needed_for: "experiments on btrfs",
    },
    PackagedProgram {
        name: "zpool",
        programs: &["zpool", "zfs-fuse"],
        packages: ["zfs-fuse", "", "zfs", "", ""],
        needed_for: "experiments on ZFS",
    },
];

const POSTGRES: [&str; 5] = ["postgresql", "postgresql-server", "postgresql", "postgresql", "postgresql"];
const POSTGIS: [&str; 5] = ["postgresql-postgis", "postgis", "postgis", "postgis", "postgis"];

/// All programs, found or not.
#[must_use]
pub fn programs() -> Vec<NeededProgram> {
    let system = Packages::here();
    let mut all = postgres(system).to_vec();
    all.extend(KNOWN.iter().filter(|known| cfg!(target_os = "linux") || !known.name.starts_with('m')).map(
        |known| {
            let found = installed::program(known.programs);
            let place = |found: installed::InstalledProgram| match found.version {
                Some(version) => version,
                None => found.path.display().to_string(),
            };
            NeededProgram {
                name: known.name,
                found: found.map(place),
                needed_for: known.needed_for,
                install: package(system, known.packages),
            }
        },
    ));
    all.extend([TileServerKind::Tipg, TileServerKind::Martin].map(tile_server));
    all
}

fn postgres(system: Packages) -> [NeededProgram; 2] {
    let servers = Installation::all();
    let told =
        |server: &Installation| server.version.split_whitespace().next().unwrap_or_default().to_owned();
    let with_postgis = |server: &&Installation| server.has_extension("postgis") == Some(true);
    let postgis: Vec<String> = servers
        .iter()
        .filter(with_postgis)
        .map(|server| format!("for PostgreSQL {}", server.major))
        .collect();
    let found = |told: Vec<String>| (!told.is_empty()).then(|| told.join(", "));
    let package_of_postgis = match (system, servers.first()) {
        (Packages::Apt, Some(server)) => Install::Package(format!("postgresql-{}-postgis-3", server.major)),
        _ => package(system, POSTGIS),
    };
    [
        NeededProgram {
            name: "PostgreSQL",
            found: found(servers.iter().map(told).collect()),
            needed_for: "--managed, target",
            install: package(system, POSTGRES),
        },
        NeededProgram {
            name: "PostGIS",
            found: found(postgis),
            needed_for: "tiles and osm load on private servers",
            install: package_of_postgis,
        },
    ]
}

fn tile_server(kind: TileServerKind) -> NeededProgram {
    let options = tile_server::TileServerOptions::usual(kind);
    let found = Watchdog::current().ok().and_then(|dog| Installed::find(&options, &dog, &Stop::new()).ok());
    let (name, needed_for, command) = match kind {
        TileServerKind::Tipg => ("TiPg", "tiles --via tipg", "pip install tipg uvicorn"),
        TileServerKind::Martin => ("martin", "tiles --via martin", "cargo install martin --locked"),
    };
    NeededProgram {
        name,
        found: found.map(|found| found.version),
        needed_for,
        install: Install::Command(command),
    }
}

fn package(system: Packages, [debian, fedora, alpine, arch, brew]: [&str; 5]) -> Install {
    let name = match system {
        Packages::Apt => debian,
        Packages::Dnf => fedora,
        Packages::Apk => alpine,
        Packages::Pacman => arch,
        Packages::Brew => brew,
        Packages::Unknown => "",
    };
    if name.is_empty() { Install::Unknown } else { Install::Package(name.to_owned()) }
}

/// Commands that install the missing programs on this system: one for all packages, and one for each program
/// without a package.
#[must_use]
pub fn install(programs: &[NeededProgram]) -> Vec<String> {
    commands(programs, Packages::here().command())
}

fn commands(programs: &[NeededProgram], installer: Option<String>) -> Vec<String> {
    let missing =
        || programs.iter().filter(|program| program.found.is_none()).map(|program| &program.install);
    let packages: Vec<&str> = missing()
        .filter_map(|install| match install {
            Install::Package(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let all = installer.filter(|_| !packages.is_empty());
    let all = all.map(|installer| format!("{installer} {}", packages.join(" ")));
    let others = missing().filter_map(|install| match install {
        Install::Command(command) => Some((*command).to_owned()),
        _ => None,
    });
    all.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(found: bool, install: Install) -> NeededProgram {
        NeededProgram { name: "x", found: found.then(|| "1".to_owned()), needed_for: "y", install }
    }

    #[test]
    fn what_is_missing_is_installed_by_one_line() {
        let package = |name: &str| Install::Package(name.to_owned());
        let all = [
            program(true, package("a")),
            program(false, package("b")),
            program(false, package("c")),
            program(false, Install::Unknown),
            program(false, Install::Command("pip install d")),
        ];
        assert_eq!(commands(&all, Some("apt-get install".into())), ["apt-get install b c", "pip install d"]);
        assert_eq!(commands(&all[..1], Some("apt-get install".into())), [""; 0]);
        assert_eq!(commands(&all, None), ["pip install d"]);
    }

    #[test]
    fn each_system_has_its_own_package() {
        assert_eq!(package(Packages::Dnf, POSTGRES), Install::Package("postgresql-server".into()));
        assert_eq!(package(Packages::Unknown, POSTGRES), Install::Unknown);
    }
}
