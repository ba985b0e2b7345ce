//! Whether the model's window holds what stands before every conversation.

use std::sync::Arc;

use petasos_agent::{Choice, Room, tokens};
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_runtime::definitions::Wanted;
use petasos_runtime::toolsets::choose;

use super::Finding;
use crate::host::Host;
use crate::report::Report;

/// From here on nobody need look: tools and instructions take a few thousand.
const AMPLE: u64 = 32_000;

pub(super) fn look(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    if let Some(room) = host.wait(too_small(host))? {
        let what = format!("the model's window is small: {}", told(&room));
        findings.push(Finding::note("window", what, room.next_step()));
    }
    Ok(())
}

/// In one line, for those who choose a model.
pub(in crate::commands) fn told(room: &Room) -> String {
    let Room { preamble, window, .. } = room;
    format!("instructions and tool definitions need about {preamble} of its {window} tokens")
}

/// What a new conversation would begin with, where that leaves less than a quarter of a window that
/// is known.
pub(in crate::commands) async fn too_small(host: &Host) -> Option<Room> {
    let settings = host.settings();
    let mut choice = Choice::new(Surface::Cli, Arc::clone(settings));
    let cx = host.call_context(Surface::Cli, SessionId::new("window"));
    let window = choice.window(host.model().as_ref(), &cx).await;
    if window >= AMPLE {
        return None;
    }
    let tools = host.catalogue().registry().snapshot();
    choice.selection = choose("cli", settings, &tools).selection(settings);
    let context_tokens = u32::try_from(window).ok();
    let wanted = Wanted { selection: choice.selection.clone(), context_tokens, whole: false };
    let check = host.check_context(Surface::Cli, SessionId::new("window"));
    let defined = host.catalogue().define(&wanted, &check).await;
    let skills = host.ports().skills.as_deref();
    let instructions = petasos_agent::instructions(&choice, skills, &cx).await;
    let preamble = instructions + tokens::of_text(&defined.json());
    let room = Room { preamble, said: 0, window };
    (preamble * 4 > window * 3).then_some(room)
}
