//! Index of the built-in tools. Kept in step with the folder by the build; do not edit.

mod read_file;
mod search_files;

use petasos_contract::{ToolDef, define};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static BUILTIN: &[&ToolDef] = &[
    &read_file::TOOL,
    &search_files::TOOL,
];

const _: () = define::unique(BUILTIN);
