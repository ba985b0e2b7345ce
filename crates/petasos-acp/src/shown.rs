//! How a call looks in an editor: its kind, its title, the places it touches.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{ToolCallLocation, ToolKind};
use serde_json::{Map, Value};

use crate::places;

/// Arguments that say the most, in this order.
const TELLING: &[&str] = &[
    "command",
    "path",
    "pattern",
    "query",
    "url",
    "urls",
    "goal",
    "question",
    "name",
    "action",
    "session_id",
    "code",
    "text",
];
const TITLE_CHARS: usize = 120;

/// What kind of thing a tool does.
pub(crate) fn kind(tool: &str, arguments: &Map<String, Value>) -> ToolKind {
    match tool {
        "read_file" | "skill_view" | "skills_list" | "vision_analyze" => ToolKind::Read,
        "patch" => patch_kind(arguments),
        "write_file" | "skill_manage" => ToolKind::Edit,
        "search_files" | "session_search" | "tool_search" => ToolKind::Search,
        "terminal" | "process" | "execute_code" | "delegate_task" => ToolKind::Execute,
        "browser_navigate" => ToolKind::Fetch,
        "todo" | "memory" => ToolKind::Think,
        web if web.starts_with("web_") => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// A patch that only removes or only moves files is told as that.
fn patch_kind(arguments: &Map<String, Value>) -> ToolKind {
    let Some(patch) = arguments.get("patch").and_then(Value::as_str) else { return ToolKind::Edit };
    let heads: Vec<&str> = patch.lines().filter(|line| line.starts_with("*** ")).collect();
    let all = |head: &str| {
        let files = heads.iter().filter(|line| line.contains(" File:"));
        let mut files = files.peekable();
        files.peek().is_some() && files.all(|line| line.starts_with(head))
    };
    if all("*** Delete File:") {
        ToolKind::Delete
    } else if all("*** Move File:") {
        ToolKind::Move
    } else {
        ToolKind::Edit
    }
}

/// One line that says what a call is about.
pub(crate) fn title(tool: &str, arguments: &Map<String, Value>, cwd: &Path) -> String {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let near = |path: &str| {
        let path = Path::new(path);
        path.strip_prefix(cwd).unwrap_or(path).display().to_string()
    };
    let title = match (tool, text("path")) {
        ("terminal", _) => text("command").map(|command| format!("`{}`", one_line(command))),
        ("read_file", Some(path)) => Some(format!("Read {}", near(path))),
        ("write_file", Some(path)) => Some(format!("Write {}", near(path))),
        ("patch", Some(path)) => Some(format!("Edit {}", near(path))),
        ("patch", None) => {
            let files = named_in_patch(text("patch").unwrap_or_default());
            let files: Vec<String> = files.iter().map(|path| near(path)).collect();
            (!files.is_empty()).then(|| format!("Edit {}", files.join(", ")))
        }
        ("search_files", _) => text("pattern").map(|pattern| format!("Search `{pattern}`")),
        ("todo", _) => Some("Plan".to_owned()),
        _ => None,
    };
    let told = || TELLING.iter().find_map(|key| arguments.get(*key)).map(said);
    let title = title.unwrap_or_else(|| match told() {
        Some(told) => format!("{tool}: {told}"),
        None => tool.to_owned(),
    });
    let mut title = one_line(&title);
    if title.chars().count() > TITLE_CHARS {
        title = title.chars().take(TITLE_CHARS).chain(['…']).collect();
    }
    title
}

fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(said).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn one_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim().to_owned();
    if lines.next().is_some() { format!("{first} …") } else { first }
}

/// The places that a call touches, absolute.
pub(crate) fn locations(
    tool: &str,
    arguments: &Map<String, Value>,
    base: &Path,
) -> Vec<ToolCallLocation> {
    let line = arguments.get("offset").and_then(Value::as_u64).filter(|_| tool == "read_file");
    let line = line.and_then(|line| u32::try_from(line).ok());
    let places = paths(tool, arguments, base, None).into_iter();
    places.map(|path| ToolCallLocation::new(path).line(line)).collect()
}

/// The files that a file tool names, absolute and without `.` and `..`. Those below a home are left
/// out where nobody says whose that is.
pub(crate) fn paths(
    tool: &str,
    arguments: &Map<String, Value>,
    base: &Path,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    if !matches!(tool, "read_file" | "write_file" | "patch" | "search_files") {
        return Vec::new();
    }
    let own = arguments.get("path").and_then(Value::as_str).into_iter();
    let patch = arguments.get("patch").and_then(Value::as_str).unwrap_or_default();
    let named = own.chain(named_in_patch(patch)).filter(|path| !path.is_empty());
    let named = named.filter(|path| home.is_some() || !path.starts_with('~'));
    let home = home.unwrap_or(base);
    let mut paths: Vec<PathBuf> = named.map(|path| places::meant(path, base, home)).collect();
    paths.dedup();
    paths
}

fn named_in_patch(patch: &str) -> Vec<&str> {
    let heads = ["*** Update File:", "*** Add File:", "*** Delete File:", "*** Move File:"];
    let named = patch.lines().filter_map(|line| {
        let rest = heads.iter().find_map(|head| line.strip_prefix(head))?;
        Some(rest.split(" -> ").map(str::trim).collect::<Vec<_>>())
    });
    named.flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_call_is_told_by_what_it_does() {
        let cwd = Path::new("/w");
        for (tool, arguments, expected, kind_of) in [
            ("read_file", json!({"path": "/w/src/a.rs"}), "Read src/a.rs", ToolKind::Read),
            ("terminal", json!({"command": "ls\ncat x"}), "`ls …`", ToolKind::Execute),
            ("web_search", json!({"query": "rust"}), "web_search: rust", ToolKind::Fetch),
            ("todo", json!({}), "Plan", ToolKind::Think),
            ("mcp__git__log", json!({"n": 1}), "mcp__git__log", ToolKind::Other),
            (
                "patch",
                json!({"patch": "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch"}),
                "Edit b.txt",
                ToolKind::Delete,
            ),
        ] {
            let arguments = map(&arguments);
            assert_eq!(title(tool, &arguments, cwd), expected);
            assert_eq!(kind(tool, &arguments), kind_of, "{tool}");
        }
    }

    #[test]
    fn every_file_of_a_patch_is_a_place() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: ../b.rs\n+z\n*** Move File: c -> d\n*** End Patch";
        let arguments = map(&json!({ "patch": patch }));
        let places = paths("patch", &arguments, Path::new("/w/sub"), None);
        let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(places, ["/w/sub/a.rs", "/w/b.rs", "/w/sub/c", "/w/sub/d"]);
    }
}
