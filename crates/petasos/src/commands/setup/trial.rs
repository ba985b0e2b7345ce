//! One tiny call to each candidate, all at once, with the settings that would be saved.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use petasos_config::Inputs;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::message::Message;
use petasos_contract::model::{Model as _, Prompt, Role};
use serde::Serialize;

use super::find::Candidate;
use crate::commands::doctor::window;
use crate::host::Host;
use crate::report::Report;

/// How long one may take; a local model may have to be loaded first.
const TRIAL: Duration = Duration::from_mins(1);

/// A candidate, and how it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Tried {
    #[serde(flatten)]
    pub(super) candidate: Candidate,
    /// Whether it answered; absent when nobody asked.
    pub(super) ok: Option<bool>,
    /// How long that took.
    pub(super) latency_ms: Option<u64>,
    /// Why it did not.
    pub(super) error: Option<String>,
    /// What will hinder it though it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

impl Tried {
    /// Nobody asked it.
    pub(super) fn untried(candidate: Candidate) -> Self {
        Self { candidate, ok: None, latency_ms: None, error: None, warning: None }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is what `map_err` and its like hand over"
    )]
    fn failed(candidate: Candidate, why: impl ToString) -> Self {
        let error = Some(why.to_string());
        Self { candidate, ok: Some(false), latency_ms: None, error, warning: None }
    }
}

/// Tries them all.
pub(super) fn all(candidates: Vec<Candidate>, inputs: &Inputs) -> Result<Vec<Tried>, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(join_all(candidates.into_iter().map(|one| try_one(one, inputs)))))
}

async fn try_one(candidate: Candidate, inputs: &Inputs) -> Tried {
    let Some(model) = candidate.model.clone() else {
        return Tried::failed(
            candidate,
            "no model was found there: is the server running? `--model NAME` names one",
        );
    };
    let flag = "setup";
    let mut inputs = inputs
        .clone()
        .with_override("model.provider", &candidate.provider, flag)
        .with_override("model.default", &model, flag);
    // An address that was saved for another provider must not follow this one.
    let address = candidate.base_url.as_deref().unwrap_or_default();
    inputs = inputs.with_override("model.base_url", address, flag);
    let settings = match petasos_config::load(&inputs) {
        Ok(settings) => Arc::new(settings),
        Err(error) => return Tried::failed(candidate, error),
    };
    let host = Host::with_settings(settings);
    match ask(&host).await {
        Ok(took) => {
            let latency_ms = u64::try_from(took.as_millis()).ok();
            let small = Box::pin(window::too_small(&host)).await;
            let told = |room| format!("{}; {}", window::told(&room), room.next_step());
            let warning = small.map(told);
            Tried { candidate, ok: Some(true), latency_ms, error: None, warning }
        }
        Err(why) => Tried::failed(candidate, why),
    }
}

/// One tiny request to whoever would answer; how long that took.
pub(in crate::commands) async fn ask(host: &Host) -> Result<Duration, String> {
    let prompt = Prompt {
        messages: vec![Message::user("Reply with the single word: ready")],
        max_tokens: Some(64),
        ..Prompt::default()
    };
    let started = Instant::now();
    let mut cx = host.call_context(Surface::OneShot, SessionId::new("setup"));
    cx.deadline = started + TRIAL;
    // The future of a whole request is large.
    let asked = Box::pin(async { host.model().ask(&prompt, Role::Main, &cx).await });
    asked.await.map(|_| started.elapsed()).map_err(|error| error.line)
}
