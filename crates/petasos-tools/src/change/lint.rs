//! Errors that a change brought into a file, found after it was written.
//!
//! Only new ones are told: what was broken before is not this change's fault. JSON, YAML and TOML
//! were judged before the write; code is judged by its own program, where the terminal is and as
//! far as it is installed there.

mod programs;

use serde_json::{Value, json};

use super::Planned;
use crate::edit::syntax::{self, Language};
use crate::edit::text::Text;
use crate::files::site::{Site, Sites};
use programs::{Confined, Judged};

/// What the files newly have wrong; `None` when nothing could be judged. With each file comes what
/// was found wrong with it before the write.
pub(super) fn of<'a>(
    site: &Site<'_>,
    sites: &Sites,
    planned: impl Iterator<Item = (&'a Planned, Option<String>)>,
) -> Option<Value> {
    let mut errors = Vec::new();
    let mut is_judged = false;
    for (plan, known) in planned {
        let Some(after) = &plan.after else { continue };
        let Some(language) = syntax::language(&plan.file.target.path) else { continue };
        let judge = |text: &Text| match language {
            Language::Code(code) => {
                let place = site.environment(sites).zip(sites.sandbox(site.cx));
                place.map_or(Judged::Unknown, |(environment, sandbox)| {
                    let place = Confined { environment: &*environment, sandbox, cx: site.cx };
                    programs::judge(code, &plan.file.target.path, text.plain(), &place)
                })
            }
            Language::Json | Language::Yaml | Language::Toml => {
                syntax::error(language, text.plain()).map_or(Judged::Good, Judged::Broken)
            }
        };
        let now = match (language, known) {
            (Language::Code(_), _) => judge(after),
            (_, Some(error)) => Judged::Broken(error),
            (_, None) => Judged::Good,
        };
        is_judged |= !matches!(now, Judged::Unknown);
        let Judged::Broken(error) = now else { continue };
        let before = plan.file.text().ok().flatten();
        let is_old = match before.as_ref().map(judge) {
            Some(Judged::Broken(old)) => without_places(&old) == without_places(&error),
            Some(Judged::Good | Judged::Unknown) | None => false,
        };
        if !is_old {
            errors.push(format!("{}: {error}", site.shown(&plan.file.target.path)));
        }
    }
    is_judged.then(|| {
        let status = if errors.is_empty() { "ok" } else { "errors" };
        json!({ "status": status, "errors": errors })
    })
}

/// An error that only moved is the same error.
fn without_places(error: &str) -> String {
    error.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
