//! Index of the programs and what they do. Kept in step with the folder by the build; do not edit.

mod backups;
mod clouds;
mod clusters;
mod containers;
mod firewalls;
mod packages;
mod publishing;
mod secrets;
mod services;

use crate::program::Program;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static PROGRAMS: &[&&[Program]] = &[
    &backups::PROGRAMS,
    &clouds::PROGRAMS,
    &clusters::PROGRAMS,
    &containers::PROGRAMS,
    &firewalls::PROGRAMS,
    &packages::PROGRAMS,
    &publishing::PROGRAMS,
    &secrets::PROGRAMS,
    &services::PROGRAMS,
];
