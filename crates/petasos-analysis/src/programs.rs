//! Index of the programs and what they do. Kept in step with the folder by the build; do not edit.

mod accounts;
mod backups;
mod clouds;
mod clusters;
mod containers;
mod disks;
mod fetching;
mod firewalls;
mod git;
mod leftovers;
mod mounts;
mod packages;
mod power;
mod processes;
mod protection;
mod publishing;
mod schedules;
mod secrets;
mod services;
mod stores;
mod trust;

use crate::program::Program;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static PROGRAMS: &[&&[Program]] = &[
    &accounts::PROGRAMS,
    &backups::PROGRAMS,
    &clouds::PROGRAMS,
    &clusters::PROGRAMS,
    &containers::PROGRAMS,
    &disks::PROGRAMS,
    &fetching::PROGRAMS,
    &firewalls::PROGRAMS,
    &git::PROGRAMS,
    &leftovers::PROGRAMS,
    &mounts::PROGRAMS,
    &packages::PROGRAMS,
    &power::PROGRAMS,
    &processes::PROGRAMS,
    &protection::PROGRAMS,
    &publishing::PROGRAMS,
    &schedules::PROGRAMS,
    &secrets::PROGRAMS,
    &services::PROGRAMS,
    &stores::PROGRAMS,
    &trust::PROGRAMS,
];
