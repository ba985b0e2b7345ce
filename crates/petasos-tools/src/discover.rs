//! The door through which a program takes the built-in tools.

use petasos_contract::ToolDef;

use crate::builtin::BUILTIN;

/// Gives every built-in tool, in the order of its file name.
///
/// Nothing is left out here: a tool that cannot work is hidden by its own check, with a reason.
pub fn discover_builtin_tools() -> &'static [&'static ToolDef] {
    BUILTIN
}
