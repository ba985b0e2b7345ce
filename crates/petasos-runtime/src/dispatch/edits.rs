//! Edits that a person wants to see before they are made, whatever the rules say.
//!
//! A session or the user's settings (`approvals.edits`) choose; else policy alone decides. What cannot
//! be shown to somebody who wants to see it is not done.

use petasos_contract::approval::{Finding, FindingKind, Scope};
use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::effect::Effect;
use petasos_contract::plan::{EditApproval, FileEdit};
use petasos_contract::{CallContext, Plan};
use petasos_fs::is_protected;

/// The key of such a question.
const KEY: &str = "edit";

/// Why somebody wants to see this call first, if they do.
pub(super) fn wanted(plan: &Plan, cx: &CallContext) -> Option<Finding> {
    plan.edits.as_ref()?;
    let mut written = plan.effects.iter().filter_map(|effect| match effect {
        Effect::Write(path) => Some(path.as_path()),
        _ => None,
    });
    let is_wanted = match chosen(cx) {
        EditApproval::ByPolicy => false,
        EditApproval::Each => true,
        EditApproval::OutsideWorkspace => {
            written.any(|path| !path.starts_with(&*cx.workspace) || is_protected(path))
        }
        EditApproval::Sensitive => written.any(is_protected),
    };
    is_wanted.then(|| Finding {
        key: KEY.into(),
        why: "this session shows edits before they are made".to_owned(),
        kind: FindingKind::Rule,
        span: None,
        widest: Scope::Once,
        stores: None,
    })
}

/// What the session chose, or else the user's own settings.
fn chosen(cx: &CallContext) -> EditApproval {
    match (cx.edit_approval, cx.settings.text("approvals.edits")) {
        (EditApproval::ByPolicy, Some("each")) => EditApproval::Each,
        (EditApproval::ByPolicy, Some("outside")) => EditApproval::OutsideWorkspace,
        (EditApproval::ByPolicy, Some("sensitive")) => EditApproval::Sensitive,
        (of_the_session, _) => of_the_session,
    }
}

/// The files of a call before and after, for whoever is asked; `must` when they want to see them.
pub(super) async fn shown(
    plan: &Plan,
    findings: &[Finding],
    cx: &CallContext,
) -> Result<Vec<FileEdit>, Refusal> {
    let Some(preview) = &plan.edits else { return Ok(Vec::new()) };
    let must = findings.iter().any(|finding| finding.key == KEY);
    match preview.edits(cx).await {
        Ok(edits) => Ok(edits),
        Err(error) if must => {
            let message = format!("Not run: the edit cannot be shown ({}).", error.message());
            Err(Refusal::new(RefusalKind::Undeliverable, message).with("outcome", "undeliverable"))
        }
        // The question names the files.
        Err(_) => Ok(Vec::new()),
    }
}
