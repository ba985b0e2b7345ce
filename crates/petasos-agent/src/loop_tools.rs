//! Index of the tools that belong to the agent loop. Kept in step with the folder by the build; do not edit.

mod clarify;
mod delegate_task;
mod memory;
mod session_search;
mod todo;

use petasos_contract::{ToolDef, define};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static LOOP_TOOLS: &[&ToolDef] = &[
    &clarify::TOOL,
    &delegate_task::TOOL,
    &memory::TOOL,
    &session_search::TOOL,
    &todo::TOOL,
];

const _: () = define::unique(LOOP_TOOLS);
