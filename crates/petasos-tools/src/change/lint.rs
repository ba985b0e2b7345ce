//! Errors that a change brought into a file, found after it was written.
//!
//! Only new ones are told: what was broken before is not this change's fault. Python is judged by
//! Python itself, where the terminal is; without one nothing is told.

use std::time::{Duration, Instant};

use petasos_contract::environment::EnvError;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::Planned;
use crate::edit::syntax::{self, Language};
use crate::edit::text::Text;
use crate::files::site::there::{self, Script};
use crate::files::site::{Site, Sites};

const PYTHON: &str = r#"command -v python3 >/dev/null 2>&1 || exit 77
exec python3 -I -c '
import ast, sys
try:
    ast.parse(sys.stdin.buffer.read())
except SyntaxError as error:
    print(f"line {error.lineno}: {error.msg}")
except ValueError as error:
    print(error)
'"#;

const LINT_MAX: Duration = Duration::from_secs(10);

/// What the files newly have wrong; `None` when nothing could be judged.
pub(super) fn of(site: &Site<'_>, sites: &Sites, planned: &[Planned]) -> Option<Value> {
    let mut errors = Vec::new();
    let mut is_judged = false;
    for plan in planned {
        let Some(after) = &plan.after else { continue };
        let Some(language) = syntax::language(&plan.file.path) else { continue };
        let judge = |text: &Text| match language {
            Language::Python => python(site, sites, text.plain()),
            Language::Json | Language::Yaml | Language::Toml => {
                syntax::error(language, text.plain()).map_or(Judged::Good, Judged::Broken)
            }
        };
        let error = match judge(after) {
            Judged::Unknown => continue,
            Judged::Good => {
                is_judged = true;
                continue;
            }
            Judged::Broken(error) => error,
        };
        is_judged = true;
        let before = plan.file.text().ok().flatten();
        let is_known = match before.as_ref().map(judge) {
            Some(Judged::Broken(known)) => without_place(&known) == without_place(&error),
            Some(Judged::Good | Judged::Unknown) | None => false,
        };
        if !is_known {
            errors.push(format!("{}: {error}", site.shown(&plan.file.path)));
        }
    }
    is_judged.then(|| {
        let status = if errors.is_empty() { "ok" } else { "errors" };
        json!({ "status": status, "errors": errors })
    })
}

/// An error that only moved is the same error.
fn without_place(error: &str) -> &str {
    error.split_once(": ").map_or(error, |(_, what)| what)
}

/// What a checker said about a text.
enum Judged {
    /// There is no checker.
    Unknown,
    Good,
    Broken(String),
}

fn python(site: &Site<'_>, sites: &Sites, text: &str) -> Judged {
    let Some(environment) = site.environment(sites) else { return Judged::Unknown };
    let until = site.cx.deadline.min(Instant::now() + LINT_MAX);
    let input = Some(text.as_bytes().to_vec());
    let script = Script { text: PYTHON, input, output_max: 2000, until };
    let judged: Result<_, EnvError> = there::wait(
        &Handle::current(),
        site.cx,
        "a syntax check",
        there::run(&*environment, script, site.cx),
    );
    // A check that cannot be made is no fault of the file.
    let Some(ran) = judged.ok().filter(|ran| ran.code == 0) else { return Judged::Unknown };
    let told = String::from_utf8_lossy(&ran.output).trim().to_owned();
    if told.is_empty() { Judged::Good } else { Judged::Broken(told) }
}
