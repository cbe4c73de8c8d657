//! The program as users run it, with private servers: a single binary, because each additional one links
//! everything again.

mod against;
mod bench;
mod beside;
mod bounds;
mod builds;
mod by_hand;
mod calibrate;
mod checks;
mod commands_of_files;
mod conformance;
mod counted;
mod cpu;
mod crashes;
mod dropin;
mod experiment;
mod factors;
mod failed_arms;
mod fetch;
mod first_minutes;
mod foreign_folder;
mod gate;
mod geopackage;
mod git_builds;
mod import;
mod install;
mod left_behind;
mod loads;
mod mail;
mod manifests;
mod maps;
mod only_jobs;
mod overload;
mod parts;
mod placement;
mod plans;
mod planted;
mod pooled;
mod redis;
mod repeat;
mod replicas;
mod reports;
mod requests;
mod secrets;
mod sessions;
mod sides;
mod silence;
mod slices;
mod slow_zooms;
mod slurm;
mod states;
mod storage;
mod streams;
mod support;
mod tile_servers;
mod tiles;
mod truth;
mod users;
mod variables;
mod web_answers;

#[path = "../../../osm/tests/support/mirror.rs"]
mod mirror;
#[path = "../../../protocol/tests/integration/misplaced.rs"]
mod misplaced;
