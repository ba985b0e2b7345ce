//! One round: the calls of a reply are run, and what began and ended is journaled around them.
//!
//! What may run together is the planner's; that each call gets one result is the runtime's. The
//! door notes each call as begun right before it runs, and here a segment is noted as ended after
//! it, so that a crash in between leaves known who ran. Behind the last segment follow the results
//! themselves.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::call::{Content as Shown, ToolCall, ToolResult};
use petasos_contract::context::CALLER_DEADLINE;
use petasos_contract::event::Event;
use petasos_contract::message::{Content, Message, Part, ToolMessage};
use petasos_contract::{CallContext, TurnId};
use petasos_runtime::plan::{Segment, plan};
use petasos_runtime::{budget, round};
use petasos_store::{StoreError, Stored};
use serde_json::Value;

use crate::engine::Engine;
use crate::result_view;
use crate::steer::Word;
use crate::transcript::Transcript;

/// How often a long wait is told.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How much of a result an event shows.
const PREVIEW_CHARS: usize = 200;

/// Runs the calls of a reply. Results are in call order, one for each.
pub(crate) async fn run(
    engine: &Arc<Engine>,
    transcript: &Transcript,
    calls: Vec<ToolCall>,
    cx: &CallContext,
) -> Result<Vec<ToolResult>, StoreError> {
    let tools = engine.dispatcher.registry().seen_by(cx.origin());
    let segments = plan(&calls, &tools, &engine.dispatcher.base(cx), cx);
    let mut results: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
    let mut steps = segments.into_iter().flat_map(steps).peekable();
    transcript.arm();
    while let Some(members) = steps.next() {
        let batch: Vec<ToolCall> = members.iter().map(|at| calls[*at].clone()).collect();
        let interrupted = cx.cancel.is_cancelled();
        let deadline = Instant::now() + CALLER_DEADLINE;
        let cx = CallContext { deadline, ..cx.clone() };
        let done = patiently(&names(&batch), round::run(&engine.dispatcher, batch, &cx), &cx).await;
        // The last ones are stored at once as what they are: the results.
        if !interrupted && steps.peek().is_some() {
            transcript.ended(&done).await?;
        }
        for (at, result) in members.into_iter().zip(done) {
            results[at] = Some(result);
        }
    }
    let mut results: Vec<ToolResult> = results.into_iter().flatten().collect();
    budget::fit_turn(&mut results, &engine.dispatcher, cx).await;
    Ok(results)
}

/// Calls in sequence are begun and ended one by one.
fn steps(segment: Segment) -> Vec<Vec<usize>> {
    match segment {
        Segment::Parallel(members) => vec![members],
        Segment::Sequential(order) => order.into_iter().map(|at| vec![at]).collect(),
    }
}

/// Tells from time to time that calls are still running: nobody should wonder what is waited for.
async fn patiently<T>(names: &str, work: impl Future<Output = T>, cx: &CallContext) -> T {
    let started = tokio::time::Instant::now();
    let asked_before = cx.pauses.total();
    let mut beats = tokio::time::interval_at(started + HEARTBEAT, HEARTBEAT);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = beats.tick() => {
                // What waits for a person does not run.
                if cx.pauses.is_open() {
                    continue;
                }
                let asked = cx.pauses.total().saturating_sub(asked_before);
                cx.events.emit(|| {
                    let seconds = started.elapsed().saturating_sub(asked).as_secs();
                    Event::Notice { text: format!("{names} still running after {seconds} s") }
                });
            }
        }
    }
}

fn names(batch: &[ToolCall]) -> String {
    let names: Vec<String> = batch.iter().map(|call| format!("`{}`", call.name)).collect();
    names.join(", ")
}

/// The results as messages, the user's words behind the last of them.
pub(crate) fn messages(results: &[ToolResult], words: &[Word], turn: &TurnId) -> Vec<Stored> {
    let mut stored: Vec<Stored> = results
        .iter()
        .map(|result| {
            let message = ToolMessage {
                tool_call_id: result.id.clone(),
                name: Some(result.name.clone()),
                content: content(&result.content),
            };
            Stored {
                turn: Some(turn.clone()),
                disposition: Some(result.disposition),
                ..Stored::new(Message::Tool(message))
            }
        })
        .collect();
    if let Some(Stored { message: Message::Tool(last), .. }) = stored.last_mut() {
        for word in words {
            add(&mut last.content, &word.text());
        }
    }
    stored
}

fn add(content: &mut Content, text: &str) {
    match content {
        Content::Text(whole) => {
            whole.push_str("\n\n");
            whole.push_str(text);
        }
        Content::Parts(parts) => parts.push(Part::text(text)),
    }
}

fn content(shown: &Shown) -> Content {
    match shown {
        Shown::Text(text) => Content::Text(text.clone()),
        Shown::Multimodal(many) => {
            let part = |value: &Value| serde_json::from_value::<Part>(value.clone()).ok();
            let parts: Vec<Part> = many.content.iter().filter_map(part).collect();
            if parts.is_empty() { Content::Text(many.text()) } else { Content::Parts(parts) }
        }
    }
}

/// Tells surfaces that results are stored.
pub(crate) fn tell(results: &[ToolResult], cx: &CallContext) {
    for result in results {
        cx.events.emit(|| Event::ToolAnswered {
            session: cx.session.clone(),
            call: result.id.clone(),
            tool: result.name.clone(),
            status: result.status,
            preview: result.content.text().chars().take(PREVIEW_CHARS).collect(),
            view: result_view::of(&result.content.text()),
        });
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use petasos_contract::context::Surface;
    use petasos_contract::event::{EventSink, Subscriber};
    use petasos_contract::{SessionId, Settings};

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Subscriber for Heard {
        fn take(&self, event: Event) {
            if let Event::Notice { text } = event {
                self.0.lock().push(text);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_is_told_every_half_minute() {
        let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
        let mut cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
        let heard = Arc::new(Heard::default());
        cx.events = EventSink::to(Arc::clone(&heard) as _);
        patiently("`act`", tokio::time::sleep(Duration::from_secs(100)), &cx).await;
        let told = heard.0.lock();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[0], "`act` still running after 30 s");
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_a_person_does_not_count_as_running() {
        let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
        let mut cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
        let heard = Arc::new(Heard::default());
        cx.events = EventSink::to(Arc::clone(&heard) as _);
        let pauses = Arc::clone(&cx.pauses);
        let work = async {
            pauses.during(tokio::time::sleep(Duration::from_secs(95))).await;
            tokio::time::sleep(Duration::from_secs(30)).await;
        };
        patiently("`act`", work, &cx).await;
        assert_eq!(*heard.0.lock(), ["`act` still running after 25 s"]);
    }
}
