//! Files that a command or a program would change, as far as its text tells: the shell is no way
//! around a question about an edit.

use std::path::{Path, PathBuf};

use petasos_analysis::{EffectKind, Facts, Language, analyse, analyse_code};
use petasos_contract::CallContext;
use serde_json::{Map, Value};

use crate::places;

/// The files that a call of a tool that runs something would write or remove.
pub(crate) fn changed(
    tool: &str,
    arguments: &Map<String, Value>,
    base: &Path,
    cx: &CallContext,
) -> Vec<PathBuf> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let home = cx.settings.user_home();
    let cwd = text("workdir").map_or_else(|| base.to_owned(), |at| places::meant(at, base, home));
    let facts = Facts {
        cwd: Some(cwd.display().to_string()),
        workspace: Some(cx.workspace.display().to_string()),
        agent_home: Some(cx.settings.home().display().to_string()),
        ..Facts::for_home(home.display().to_string())
    };
    let analysis = match (tool, text("command"), text("code")) {
        ("terminal", Some(command), _) => analyse(command, &facts),
        ("execute_code", _, Some(code)) => analyse_code(Language::Python, code, &facts),
        _ => return Vec::new(),
    };
    let effects = analysis.effects.iter();
    let changes = effects.filter(|it| matches!(it.kind, EffectKind::Write | EffectKind::Delete));
    changes.map(|it| places::meant(&it.target, &cwd, home)).collect()
}
