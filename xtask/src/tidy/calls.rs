//! Some calls are made in one place only: the environment, processes, a tool's `run`.
//!
//! clippy bans most of these by path; what it cannot say is *where* an `#[expect]` of the ban is
//! acceptable. The rules in `tidy.toml` say it, by text, over code without comments and strings.

use crate::finding::Finding;
use crate::house::House;
use crate::rules::{Call, covers};
use crate::source::{Source, Squeezed};

/// Applies every `[[call]]` rule to every Rust file.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &house.sources {
        let everything = Squeezed::of(&source.code);
        let production = Squeezed::of(&source.production());
        for call in &house.rules.calls {
            let allowed = call.allow.iter().any(|place| covers(place, &source.path));
            let is_shipped = !source.is_test() && !source.path.ends_with("/build.rs");
            if allowed || (call.tests && !is_shipped) {
                continue;
            }
            let code = if call.tests { &production } else { &everything };
            found.extend(one(source, call, code));
        }
    }
    found
}

fn one(source: &Source, call: &Call, code: &Squeezed) -> Vec<Finding> {
    let mut found = Vec::new();
    for pattern in &call.patterns {
        for line in code.lines_with(pattern) {
            found.push(Finding {
                path: source.path.clone(),
                line,
                check: "calls",
                what: format!("`{pattern}` is not written here"),
                cure: format!("{}: {}", call.name, call.why),
            });
        }
    }
    found
}
