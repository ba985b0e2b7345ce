//! Plan mode: a session that only plans may look at everything and change nothing.
//!
//! What counts is what a call would do, not what the model was told. A tool must vouch that its
//! stated effects are all it does; one that does not, such as a stranger's, is withheld.

use petasos_contract::CallContext;
use petasos_contract::Plan;
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::context::{Phase, Principal};
use petasos_contract::effect::Effect;
use petasos_contract::tool::InPlanMode;
use petasos_shell::reading::leaves_no_trace;

use crate::registry::Entry;

/// Refuses a call that would change something while its session only plans. A person's own calls
/// are theirs.
pub(super) fn check(entry: &Entry, plan: &Plan, cx: &CallContext) -> Result<(), Refusal> {
    if cx.phase == Phase::Work || cx.principal == Principal::Person {
        return Ok(());
    }
    let why = match entry.in_plan_mode {
        InPlanMode::Withheld => Some(format!("`{}` may change things", entry.name)),
        InPlanMode::ByEffects => plan.effects.iter().find_map(changes),
    };
    why.map_or(Ok(()), |why| Err(refused(&why)))
}

/// What an effect changes, if it is not plain reading.
fn changes(effect: &Effect) -> Option<String> {
    match effect {
        Effect::Read(_) | Effect::Reach(_) | Effect::ReachPrivate(_) => None,
        Effect::Command { script, .. } if leaves_no_trace(script) => None,
        Effect::Command { .. } => Some("the command does not plainly only read".to_owned()),
        Effect::Write(path) => Some(format!("it would write {}", path.display())),
        Effect::Send { target } => Some(format!("it would send something to {target}")),
        Effect::Spend { .. } => Some("it would spend money".to_owned()),
        _ => Some("it may change things".to_owned()),
    }
}

fn refused(why: &str) -> Refusal {
    let message = format!(
        "Not run: plan mode is on, and {why}. Until the user says go, only look: read and search \
         files, read pages, and run commands that plainly only read (ls, cat, rg, git log, git \
         diff). Finish with a plan and let the user decide; do not try another way."
    );
    Refusal::new(RefusalKind::PlanMode, message).with("outcome", "plan_mode")
}
