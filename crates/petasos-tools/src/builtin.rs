//! Index of the built-in tools. Kept in step with the folder by the build; do not edit.

mod execute_code;
mod patch;
mod process;
mod read_file;
mod search_files;
mod terminal;
mod write_file;

use petasos_contract::{ToolDef, define};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static BUILTIN: &[&ToolDef] = &[
    &execute_code::TOOL,
    &patch::TOOL,
    &process::TOOL,
    &read_file::TOOL,
    &search_files::TOOL,
    &terminal::TOOL,
    &write_file::TOOL,
];

const _: () = define::unique(BUILTIN);
