//! Checks over families at compile time: a duplicate name does not build.

use crate::tool::ToolDef;

/// Refuses, at compile time, two tools with one name and a tool without a name or a toolset.
pub const fn unique(tools: &[&ToolDef]) {
    let mut left = 0;
    while left < tools.len() {
        assert!(!tools[left].name.is_empty(), "a tool has no name");
        assert!(!tools[left].toolset.is_empty(), "a tool has no toolset");
        let mut right = left + 1;
        while right < tools.len() {
            assert!(!same(tools[left].name, tools[right].name), "two tools share one name");
            right += 1;
        }
        left += 1;
    }
}

const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: ToolDef = ToolDef { name: "one", toolset: "file", ..ToolDef::USUAL };
    const OTHER: ToolDef = ToolDef { name: "two", toolset: "file", ..ToolDef::USUAL };
    const NAMELESS: ToolDef = ToolDef { toolset: "file", ..ToolDef::USUAL };

    fn refuses(tools: &[&ToolDef]) -> bool {
        std::panic::catch_unwind(|| unique(tools)).is_err()
    }

    #[test]
    fn a_duplicate_name_is_refused() {
        assert!(refuses(&[&NAMED, &OTHER, &NAMED]));
        assert!(refuses(&[&NAMELESS]));
        assert!(!refuses(&[&NAMED, &OTHER]));
    }
}
