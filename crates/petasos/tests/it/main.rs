//! The real program, in throw-away homes.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![expect(clippy::similar_names, reason = "tests speak of the same few things")]

mod acp;
mod apart;
mod approval;
mod backend;
mod bot_api;
mod canary;
mod chat;
mod chats;
mod config;
mod cron;
mod demo;
mod doctor;
mod everywhere;
mod faults;
mod gateway;
mod groups;
mod hooks;
mod import;
mod injected;
mod judged;
mod kanban;
mod labels;
mod listeners;
mod logs;
mod loopback;
mod making;
mod mcp;
mod media;
mod names;
mod newcomers;
mod outside;
mod package;
mod parity;
mod providers;
mod request_size;
mod rollback;
mod rows;
mod run;
mod scanner;
mod scheduled;
pub(crate) mod serve;
mod services;
mod sessions;
mod setup;
mod skills;
mod spoken;
#[cfg(test)]
mod terminal;
mod tools;
mod toolsets;
mod usage;
mod vendor;
mod walkthrough;

use petasos_testkit::{Finished, Home, Program};

/// The program under test.
fn petasos(home: &Home) -> Program {
    Program::new(env!("CARGO_BIN_EXE_petasos"), home)
}

/// Runs the program in a home of its own.
fn run(arguments: &[&str]) -> Finished {
    petasos(&Home::temp()).run(arguments)
}
