//! Reports of seeded data, as they are printed. One binary, because each additional one links everything again.

mod answer;
mod chart_file;
mod ladder;
mod limits;
mod mail;
mod page;
mod phone;
mod rungs;
mod tables;
mod tiles;

#[path = "../fixture/mod.rs"]
mod fixture;
