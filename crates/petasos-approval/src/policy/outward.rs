//! Effects that reach people and things: a message to somebody, something in the world that moves.
//!
//! Writing to somebody is asked about once a session and target. What doors and alarms hang on is
//! asked about each time, and no answer is remembered. Where nobody can be asked, only a rule of
//! the user's own lets either through.

use super::inspect::{Said, Seen, Sort};
use crate::grants::Spot;
use crate::permissions::{Deed, Kind};
use petasos_analysis::Facts;

/// What writing to somebody is called.
const MESSAGE: &str = "message to others";

/// What moving something that people are kept safe by is called.
const SAFETY: &str = "safety device";

/// The person themself, by a way that they set up.
const SELF: &str = "self:";

/// What acting on somebody's desktop is called.
const DESKTOP: &str = "desktop";

/// A message, or anything else that leaves for somebody.
pub(super) fn sent(target: &str, tool: &str, facts: &Facts) -> Seen {
    if target.starts_with(SELF) {
        return Seen { deed: aimed(tool, target), said: Vec::new() };
    }
    let spot = Spot { leaf: target.to_owned(), target: None, cwd: facts.cwd.clone() };
    let said =
        Said::about((MESSAGE, Sort::Passing), target, format!("sends to `{target}`"), vec![spot]);
    Seen { deed: aimed(tool, target), said: vec![said] }
}

/// Something in the world. A program on the desktop is asked about once a session.
pub(super) fn moved(target: &str, guarded: bool, tool: &str, facts: &Facts) -> Seen {
    let spot = || Spot { leaf: target.to_owned(), target: None, cwd: facts.cwd.clone() };
    let why = match target.split_once(':') {
        Some(("desktop", app)) => format!("acts on the desktop, in `{app}`"),
        Some(("sql", name)) => format!("changes the database `{name}`"),
        _ => format!("moves `{target}`, which people are kept safe by"),
    };
    let said = if target.starts_with("desktop:") {
        Said::about((DESKTOP, Sort::Passing), target, why, vec![spot()])
    } else {
        Said::about((SAFETY, Sort::Guarded), target, why, Vec::new())
    };
    let asks = guarded || said.sort == Sort::Passing;
    Seen { deed: aimed(tool, target), said: asks.then_some(said).into_iter().collect() }
}

fn aimed(tool: &str, target: &str) -> Deed {
    let mut deed = Deed::new(tool, Kind::Target);
    deed.targets.push(target.to_owned());
    deed
}
