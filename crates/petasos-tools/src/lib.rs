//! The built-in tools, one file each.
//!
//! Its law: a tool is one file under `builtin/` that declares `pub static TOOL: ToolDef`; the
//! build lists the folder, so there is nothing else to edit. Engines that more than one tool
//! uses live beside the folder and know nothing of tools.
//!
//! | file | what it holds |
//! |---|---|
//! | `builtin`, `builtin/` | the index, and one tool a file |
//! | `discover` | what the index holds, in its order |
//! | `files`, `files/` | reading and searching files on this machine |

pub mod builtin;
mod discover;
mod files;

pub use builtin::BUILTIN;
pub use discover::discover_builtin_tools;
