//! `petasos acp`: an editor over pipes. Numbers are the acceptance lines of the surfaces contract.

mod abilities;
mod agents;
mod apart;
mod audit;
mod basics;
mod cancels;
mod clients;
mod commands;
mod conformance;
mod early;
pub(crate) mod editor;
mod emacs;
mod embedded;
mod hostile;
mod noise;
mod panel;
mod permits;
mod places;
mod snippets;
mod stored;
mod terminals;
mod told;
mod vendors;
mod windows;

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};

fn home(model: &Loopback) -> Home {
    let home = Home::temp();
    home.write(".petasos/config.yaml", format!("{}approvals:\n  mode: manual\n", model.config()));
    home
}

fn terminal(command: &str) -> Say {
    Say::Calls(vec![("terminal", json!({ "command": command }))])
}

fn write(path: &str, content: &str) -> Say {
    Say::Calls(vec![("write_file", json!({ "path": path, "content": content }))])
}

/// The last result that the model was told.
fn result(model: &Loopback) -> String {
    let asked = model.asked();
    let messages = asked.last().map(|body| body["messages"].clone()).unwrap_or_default();
    let messages = messages.as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find(|message| message["role"] == "tool").cloned();
    last.map(|message| message["content"].to_string()).unwrap_or_default()
}

/// The first result of a tool that the model was told.
fn result_of(model: &Loopback, tool: &str) -> String {
    let asked = model.asked();
    let messages = asked.iter().filter_map(|body| body["messages"].as_array()).flatten();
    let named = |message: &&Value| {
        message["role"] == "tool" && message["tool_call_id"].to_string().contains(tool)
    };
    let found = messages.into_iter().find(named).cloned();
    found.map(|message| message["content"].to_string()).unwrap_or_default()
}
