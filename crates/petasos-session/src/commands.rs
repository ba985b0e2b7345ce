//! Index of the slash commands. Kept in step with the folder by the build; do not edit.

mod approve;
mod background;
mod branch;
mod compress;
mod config;
mod deny;
mod go;
mod help;
mod history;
mod jobs;
mod memory;
mod model;
mod models;
mod new;
mod personality;
mod plan;
mod provider;
mod providers;
mod queue;
mod reasoning;
mod reload_mcp;
mod resume;
mod retry;
mod rollback;
mod save;
mod sessions;
mod skills;
mod sources;
mod status;
mod steer;
mod stop;
mod taint;
mod title;
mod tools;
mod toolsets;
mod trust;
mod undo;
mod usage;
mod version;
mod yolo;

use crate::command::SlashCommand;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[&SlashCommand] = &[
    &approve::COMMAND,
    &background::COMMAND,
    &branch::COMMAND,
    &compress::COMMAND,
    &config::COMMAND,
    &deny::COMMAND,
    &go::COMMAND,
    &help::COMMAND,
    &history::COMMAND,
    &jobs::COMMAND,
    &memory::COMMAND,
    &model::COMMAND,
    &models::COMMAND,
    &new::COMMAND,
    &personality::COMMAND,
    &plan::COMMAND,
    &provider::COMMAND,
    &providers::COMMAND,
    &queue::COMMAND,
    &reasoning::COMMAND,
    &reload_mcp::COMMAND,
    &resume::COMMAND,
    &retry::COMMAND,
    &rollback::COMMAND,
    &save::COMMAND,
    &sessions::COMMAND,
    &skills::COMMAND,
    &sources::COMMAND,
    &status::COMMAND,
    &steer::COMMAND,
    &stop::COMMAND,
    &taint::COMMAND,
    &title::COMMAND,
    &tools::COMMAND,
    &toolsets::COMMAND,
    &trust::COMMAND,
    &undo::COMMAND,
    &usage::COMMAND,
    &version::COMMAND,
    &yolo::COMMAND,
];
