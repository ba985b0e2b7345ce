//! Middleware around a model: chained rewriters, the onion's rules, and the moments beside it.

use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::context::Surface;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment};
use petasos_contract::message::Assistant;
use petasos_contract::middleware::{
    AskError, AskMiddleware, MiddlewareError, NextAsk, PromptMiddleware, PromptRewrite,
};
use petasos_contract::model::{Model, ModelError, Prompt, Reason, Reply, Role};
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use serde_json::Map;

use super::{Attended, Middleware};
use crate::hooks::HookBus;

/// Answers with the system prompt it was given, or fails; remembers how often it was asked.
#[derive(Default)]
struct Mirror {
    asked: Mutex<Vec<String>>,
    fails: bool,
}

impl Model for Mirror {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        self.asked.lock().push(prompt.system.clone());
        let message = Assistant { content: Some(prompt.system.clone()), ..Assistant::default() };
        let failure = ModelError::new(Reason::Overloaded, "busy");
        let answer =
            if self.fails { Err(failure) } else { Ok(Reply { message, ..Reply::default() }) };
        Box::pin(std::future::ready(answer))
    }
}

struct Adds(&'static str);

impl PromptMiddleware for Adds {
    fn name(&self) -> &str {
        self.0
    }

    fn rewrite<'a>(
        &'a self,
        prompt: &'a Prompt,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Option<PromptRewrite>, MiddlewareError>> {
        Box::pin(async move {
            if self.0 == "broken" {
                return Err(MiddlewareError("no".to_owned()));
            }
            let system = format!("{} {}", prompt.system, self.0);
            Ok(Some(PromptRewrite { prompt: Prompt { system, ..prompt.clone() }, reason: None }))
        })
    }
}

/// How a frame behaves.
#[derive(Clone, Copy)]
enum Way {
    Marks,
    FailsBefore,
    FailsAfter,
    Answers,
}

impl AskMiddleware for Way {
    fn name(&self) -> &'static str {
        "way"
    }

    fn around<'a>(
        &'a self,
        prompt: Prompt,
        next: NextAsk<'a>,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, AskError>> {
        Box::pin(async move {
            let mut reply = match self {
                Self::FailsBefore => return Err(AskError::Failed("early".to_owned())),
                Self::Answers => Reply::default(),
                Self::Marks | Self::FailsAfter => next(prompt).await?,
            };
            if matches!(self, Self::FailsAfter) {
                return Err(AskError::Failed("late".to_owned()));
            }
            let text = format!("[{}]", reply.message.text());
            reply.message.content = Some(text);
            Ok(reply)
        })
    }
}

#[derive(Default)]
struct Listens(Mutex<Vec<&'static str>>);

impl Hook for Listens {
    fn name(&self) -> &'static str {
        "listens"
    }

    fn wants(&self) -> HookSet {
        HookSet::of(&[HookKind::PreApiRequest, HookKind::PostApiRequest, HookKind::ApiRequestError])
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        self.0.lock().push(moment.kind().as_str());
        Box::pin(std::future::ready(Ok(Directive::Pass)))
    }
}

fn cx() -> CallContext {
    let settings = Arc::new(Settings::from_values(Map::new()));
    CallContext::new(settings, Surface::Cli, SessionId::new("s"))
}

async fn ask(
    model: Arc<Mirror>,
    rewriters: &[&'static str],
    frames: &[Way],
) -> Result<String, Reason> {
    let middleware = Arc::new(Middleware::new());
    for name in rewriters {
        middleware.register_prompt(&(Arc::new(Adds(name)) as Arc<dyn PromptMiddleware>));
    }
    for way in frames {
        middleware.register_ask(&(Arc::new(*way) as Arc<dyn AskMiddleware>));
    }
    let attended = Attended::new(model, Arc::new(HookBus::new()), middleware);
    let prompt = Prompt { system: "s".to_owned(), ..Prompt::default() };
    let answer = attended.ask(&prompt, Role::Main, &cx()).await;
    answer.map(|reply| reply.message.text().to_owned()).map_err(|error| error.reason)
}

#[tokio::test]
async fn rewriters_are_chained_and_a_broken_one_is_skipped() {
    let said = ask(Arc::default(), &["one", "broken", "two"], &[]).await;
    assert_eq!(said.unwrap(), "s one two");
}

#[tokio::test]
async fn a_model_is_asked_at_most_once_whatever_its_frames_do() {
    let rows: [(&[Way], &str, usize); 5] = [
        (&[Way::Marks, Way::Marks], "[[s]]", 1),
        (&[Way::FailsBefore, Way::Marks], "[s]", 1),
        (&[Way::FailsAfter], "s", 1),
        (&[Way::Answers], "[]", 0),
        (&[], "s", 1),
    ];
    for (frames, said, asked) in rows {
        let model = Arc::new(Mirror::default());
        assert_eq!(ask(Arc::clone(&model), &[], frames).await.unwrap(), said);
        assert_eq!(model.asked.lock().len(), asked, "{said}");
    }
}

#[tokio::test]
async fn a_failure_further_in_stays_what_it_is() {
    let model = Arc::new(Mirror { fails: true, ..Mirror::default() });
    assert_eq!(ask(model, &[], &[Way::Marks, Way::Marks]).await, Err(Reason::Overloaded));
}

#[tokio::test]
async fn requests_are_told_before_and_after() {
    for (fails, last) in [(false, "post_api_request"), (true, "api_request_error")] {
        let (hooks, listens) = (Arc::new(HookBus::new()), Arc::new(Listens::default()));
        hooks.register(&(Arc::clone(&listens) as Arc<dyn Hook>));
        let model = Arc::new(Mirror { fails, ..Mirror::default() });
        let attended = Attended::new(model, hooks, Arc::default());
        let answer = attended.ask(&Prompt::default(), Role::Main, &cx()).await;
        assert_eq!(answer.is_err(), fails);
        assert_eq!(*listens.0.lock(), ["pre_api_request", last]);
    }
}
