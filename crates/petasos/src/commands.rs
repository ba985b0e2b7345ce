//! Index of the commands. Kept in step with the folder by the build; do not edit.

mod demo;
mod doctor;
mod tools;
mod toolsets;

use crate::command::Command;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[&Command] = &[
    &demo::COMMAND,
    &doctor::COMMAND,
    &tools::COMMAND,
    &toolsets::COMMAND,
];
