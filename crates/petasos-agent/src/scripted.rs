//! A model that says what it was told to say: for the demo and for tests.
//!
//! It is a [`Model`] like any other and takes part in the real loop. It pretends nothing: what it
//! serves names itself `scripted`.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::message::{Assistant, RequestedCall};
use petasos_contract::model::{
    Delta, Finish, Model, ModelError, Prompt, Reason, Reply, Role, Served, Usage,
};
use petasos_contract::{BoxFuture, CallContext};

use crate::tokens;

/// What the model does when it is asked.
#[derive(Debug, Clone)]
pub enum Act {
    /// Says something.
    Say(String),
    /// Says something and asks for calls: tool and arguments each.
    Call(String, Vec<(String, String)>),
    /// Gives exactly this.
    Give(Box<Reply>),
    /// Fails.
    Fail(Reason),
    /// Fails, with all details.
    FailWith(Box<ModelError>),
    /// Says part of something and then waits until it is interrupted.
    Hang(String),
    /// Waits, then does something else.
    After(Duration, Box<Act>),
}

impl Act {
    /// Says something.
    pub fn say(text: &str) -> Self {
        Self::Say(text.to_owned())
    }

    /// Asks for one call.
    pub fn call(tool: &str, arguments: &str) -> Self {
        Self::calls("", &[(tool, arguments)])
    }

    /// Says something and asks for calls.
    pub fn calls(text: &str, calls: &[(&str, &str)]) -> Self {
        let own = |(tool, arguments): &(&str, &str)| ((*tool).to_owned(), (*arguments).to_owned());
        Self::Call(text.to_owned(), calls.iter().map(own).collect())
    }
}

/// A question that was put to the model.
#[derive(Debug, Clone)]
pub struct Asked {
    /// For which task.
    pub role: Role,
    /// The whole prompt.
    pub prompt: Prompt,
    /// How long the answer may take.
    pub time: Duration,
}

type Rule = dyn Fn(&Prompt, Role) -> Act + Send + Sync;

/// The model.
#[derive(Default)]
pub struct Scripted {
    acts: Mutex<BTreeMap<Role, VecDeque<Act>>>,
    rule: Option<Box<Rule>>,
    window: Option<u64>,
    asked: Mutex<Vec<Asked>>,
    served: Mutex<u64>,
}

impl Scripted {
    /// Acts in this order when it is asked for the main conversation.
    pub fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self::default().with(Role::Main, acts)
    }

    /// Acts in this order when it is asked for another task.
    #[must_use]
    pub fn with(self, role: Role, acts: impl IntoIterator<Item = Act>) -> Self {
        self.acts.lock().entry(role).or_default().extend(acts);
        self
    }

    /// Acts so, too, behind what it was told before.
    pub fn then(&self, acts: impl IntoIterator<Item = Act>) {
        self.acts.lock().entry(Role::Main).or_default().extend(acts);
    }

    /// Decides by the question when its script has ended.
    #[must_use]
    pub fn otherwise(
        mut self,
        rule: impl Fn(&Prompt, Role) -> Act + Send + Sync + 'static,
    ) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }

    /// States how many tokens it reads.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().clone()
    }

    fn next(&self, prompt: &Prompt, role: Role, cx: &CallContext) -> Act {
        let time = cx.deadline.saturating_duration_since(Instant::now());
        self.asked.lock().push(Asked { role, prompt: prompt.clone(), time });
        let scripted = self.acts.lock().get_mut(&role).and_then(VecDeque::pop_front);
        scripted.or_else(|| self.rule.as_ref().map(|rule| rule(prompt, role))).unwrap_or_else(
            || {
                let line = format!("the script has nothing more to say for {role:?}");
                Act::FailWith(Box::new(ModelError::new(Reason::NotConfigured, line)))
            },
        )
    }

    fn reply(&self, text: &str, calls: &[(String, String)], prompt: &Prompt) -> Reply {
        let number = {
            let mut served = self.served.lock();
            *served += 1;
            *served
        };
        let call = |(at, (tool, arguments)): (usize, &(String, String))| RequestedCall {
            id: format!("call_{number}_{at}").into(),
            name: tool.as_str().into(),
            arguments: arguments.clone(),
            provider_data: None,
        };
        let message = Assistant {
            content: (!text.is_empty()).then(|| text.to_owned()),
            tool_calls: calls.iter().enumerate().map(call).collect(),
            ..Assistant::default()
        };
        let input: u64 = prompt.messages.iter().map(tokens::of_message).sum();
        Reply {
            finish: if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
            message,
            usage: Usage {
                input: input + tokens::of_text(&prompt.system),
                output: tokens::of_text(text),
                requests: 1,
                ..Usage::default()
            },
            served: Served {
                provider: "scripted".to_owned(),
                model: "scripted".to_owned(),
                ..Served::default()
            },
            ..Reply::default()
        }
    }
}

impl Model for Scripted {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let mut act = self.next(prompt, role, cx);
            let tell = |text: &str| {
                for word in text.split_inclusive(' ') {
                    prompt.deltas.tell(1, &Delta::Text { text: word.to_owned() });
                }
            };
            loop {
                match act {
                    Act::After(wait, then) => {
                        tokio::time::sleep(wait).await;
                        act = *then;
                    }
                    Act::Say(text) => {
                        tell(&text);
                        return Ok(self.reply(&text, &[], prompt));
                    }
                    Act::Call(text, calls) => {
                        tell(&text);
                        return Ok(self.reply(&text, &calls, prompt));
                    }
                    Act::Give(reply) => {
                        tell(reply.message.text());
                        return Ok(*reply);
                    }
                    Act::Fail(reason) => {
                        return Err(ModelError::new(reason, format!("scripted {reason:?}")));
                    }
                    Act::FailWith(error) => return Err(*error),
                    Act::Hang(text) => {
                        tell(&text);
                        cx.cancel.cancelled().await;
                        return Err(ModelError::new(Reason::Cancelled, "interrupted"));
                    }
                }
            }
        })
    }

    fn window<'a>(
        &'a self,
        _: &'a Prompt,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Option<u64>> {
        Box::pin(std::future::ready(self.window))
    }
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripted").field("asked", &self.asked.lock().len()).finish_non_exhaustive()
    }
}
