//! Index of the commands. Kept in step with the folder by the build; do not edit.

mod approval;
mod config;
mod demo;
mod docs;
mod doctor;
mod provider;
mod tools;
mod toolsets;

use crate::command::Command;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[&Command] = &[
    &approval::COMMAND,
    &config::COMMAND,
    &demo::COMMAND,
    &docs::COMMAND,
    &doctor::COMMAND,
    &provider::COMMAND,
    &tools::COMMAND,
    &toolsets::COMMAND,
];
