//! Index of the commands. Kept in step with the folder by the build; do not edit.

mod acp;
mod approval;
mod auth;
mod backend;
mod browser;
mod chat;
mod completions;
mod config;
mod cron;
mod curator;
mod demo;
mod docs;
mod doctor;
mod gateway;
mod help;
mod hooks;
mod import;
mod kanban;
mod kill;
mod logs;
mod man;
mod mcp;
mod model;
mod models;
mod plugins;
mod provider;
mod ps;
mod read_pdf;
mod resume;
mod rollback;
mod run;
mod serve;
mod sessions;
mod setup;
mod skills;
mod stop;
mod term;
mod tools;
mod toolsets;
mod update;
mod version;
mod webhook;

use crate::command::Command;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[&Command] = &[
    &acp::COMMAND,
    &approval::COMMAND,
    &auth::COMMAND,
    &backend::COMMAND,
    &browser::COMMAND,
    &chat::COMMAND,
    &completions::COMMAND,
    &config::COMMAND,
    &cron::COMMAND,
    &curator::COMMAND,
    &demo::COMMAND,
    &docs::COMMAND,
    &doctor::COMMAND,
    &gateway::COMMAND,
    &help::COMMAND,
    &hooks::COMMAND,
    &import::COMMAND,
    &kanban::COMMAND,
    &kill::COMMAND,
    &logs::COMMAND,
    &man::COMMAND,
    &mcp::COMMAND,
    &model::COMMAND,
    &models::COMMAND,
    &plugins::COMMAND,
    &provider::COMMAND,
    &ps::COMMAND,
    &read_pdf::COMMAND,
    &resume::COMMAND,
    &rollback::COMMAND,
    &run::COMMAND,
    &serve::COMMAND,
    &sessions::COMMAND,
    &setup::COMMAND,
    &skills::COMMAND,
    &stop::COMMAND,
    &term::COMMAND,
    &tools::COMMAND,
    &toolsets::COMMAND,
    &update::COMMAND,
    &version::COMMAND,
    &webhook::COMMAND,
];
