//! The model of the walk: it calls one tool after the other and looks at what comes back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::tools;
use crate::loopback::Say;

/// A call of the walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) tool: &'static str,
    /// Arguments that only this world knows: the argument, and whose result has its value.
    given: &'static [(&'static str, &'static str)],
    /// Arguments of a call between two examples.
    between: Option<&'static str>,
}

/// The first example of a tool, as it is.
pub(super) fn call(tool: &'static str) -> Step {
    with(tool, &[])
}

/// The same with names of this world.
pub(super) fn with(tool: &'static str, given: &'static [(&'static str, &'static str)]) -> Step {
    Step { tool, given, between: None }
}

/// A call that makes another one possible.
pub(super) fn also(tool: &'static str, args: &'static str) -> Step {
    Step { tool, given: &[], between: Some(args) }
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Step>,
    running: Option<Step>,
    /// What was told, by tool; `world` is where it takes place.
    told: BTreeMap<&'static str, Value>,
    done: BTreeSet<&'static str>,
    offered: BTreeSet<String>,
    wrong: Vec<String>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Walker(Arc<Mutex<State>>);

impl Walker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it says to whoever asks.
    pub(super) fn model(&self) -> impl FnMut(&Value) -> Say + Send + 'static {
        let walker = self.clone();
        move |body| walker.state().says(body)
    }

    pub(super) fn know(&self, name: &'static str, value: Value) {
        self.state().told.insert(name, value);
    }

    /// Calls these in the next turn.
    pub(super) fn begin(&self, steps: Vec<Step>) {
        self.state().waiting = steps.into();
    }

    /// The turn left nothing out.
    pub(super) fn is_through(&self, turn: &str) {
        let state = self.state();
        assert!(state.waiting.is_empty(), "{turn}: {:?} {:?}", state.waiting, state.wrong);
    }

    /// A call that the model has no part in.
    pub(super) fn by_hand(&self, tool: &'static str, run: impl FnOnce(&str) -> String) {
        let told = run(first(tool).args);
        let mut state = self.state();
        state.offered.insert(tool.to_owned());
        state.take(call(tool), &told);
    }

    pub(super) fn offered(&self) -> BTreeSet<String> {
        self.state().offered.clone()
    }

    pub(super) fn done(&self) -> BTreeSet<&'static str> {
        self.state().done.clone()
    }

    pub(super) fn wrong(&self) -> Vec<String> {
        self.state().wrong.clone()
    }
}

impl State {
    fn says(&mut self, body: &Value) -> Say {
        let empty = Vec::new();
        let messages = body["messages"].as_array().unwrap_or(&empty);
        let offered = body["tools"].as_array().unwrap_or(&empty);
        let last = messages.last().cloned().unwrap_or_default();
        if offered.is_empty() {
            return Say::Text("a felt hat");
        }
        let is_walk = messages.iter().any(|message| {
            message["role"] == "user" && words(&message["content"]).starts_with("walk:")
        });
        if !is_walk {
            return self.child(messages, &last);
        }
        let names = offered.iter().filter_map(|tool| tool["function"]["name"].as_str());
        self.offered.extend(names.map(str::to_owned));
        let is_next = last["role"] == "tool" || words(&last["content"]).starts_with("walk:");
        if !is_next {
            return Say::Text("nothing to add");
        }
        if let Some(step) = self.running.take() {
            self.take(step, &words(&last["content"]));
        }
        let Some(step) = self.waiting.pop_front() else { return Say::Text("done") };
        self.running = Some(step);
        Say::Calls(vec![(step.tool, self.args(step))])
    }

    /// Whoever was given the counting of hats: one sign of life, and the number.
    fn child(&mut self, messages: &[Value], last: &Value) -> Say {
        if last["role"] == "tool" {
            self.take(call("kanban_heartbeat"), &words(&last["content"]));
            return Say::Text("three hats");
        }
        let told: String = messages.iter().map(|message| words(&message["content"])).collect();
        let card = told.split("This is card ").nth(1).and_then(|rest| rest.split(' ').next());
        let Some(card) = card else { return Say::Text("three hats") };
        let mut args = example(call("kanban_heartbeat"));
        args.insert("task_id".to_owned(), card.into());
        Say::Calls(vec![("kanban_heartbeat", Value::Object(args))])
    }

    fn args(&mut self, step: Step) -> Value {
        let mut args = example(step);
        for (name, source) in step.given {
            let (tool, key) = source.split_once('/').unwrap_or((source, ""));
            let found = self.told.get(tool).and_then(|told| told.pointer(&format!("/{key}")));
            match found {
                Some(value) => {
                    args.insert((*name).to_owned(), value.clone());
                }
                None => self.wrong.push(format!("{}: nobody told {source}", step.tool)),
            }
        }
        Value::Object(args)
    }

    fn take(&mut self, step: Step, text: &str) {
        let told = object(text);
        let shows = step.between.map_or_else(|| first(step.tool).shows, |_| "");
        let failed = told.get("error").is_some_and(|error| !error.is_null())
            || told["success"] == false
            || told["ok"] == false;
        if failed || !text.contains(shows) {
            let cut: String = text.chars().take(900).collect();
            self.wrong.push(format!("{} does not show {shows}: {cut}", step.tool));
        }
        if step.between.is_some() {
            self.told.insert("also", told);
        } else {
            self.told.insert(step.tool, told);
            self.done.insert(step.tool);
        }
    }
}

fn first(tool: &str) -> &'static petasos_contract::tool::Example {
    let def = tools().find(|def| def.name == tool).expect("the tool is there");
    def.examples.first().expect("a tool has an example")
}

fn example(step: Step) -> Map<String, Value> {
    let args = step.between.unwrap_or_else(|| first(step.tool).args);
    serde_json::from_str(args).expect("an object")
}

/// The words of a message.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The object in a result, which may stand between marks.
fn object(text: &str) -> Value {
    let rest = text.find('{').and_then(|at| text.get(at..)).unwrap_or_default();
    let told = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next();
    told.and_then(Result::ok).unwrap_or_default()
}
