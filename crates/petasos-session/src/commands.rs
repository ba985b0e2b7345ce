//! Index of the slash commands. Kept in step with the folder by the build; do not edit.

mod approve;
mod background;
mod branch;
mod bundles;
mod compress;
mod config;
mod cron;
mod deny;
mod go;
mod help;
mod history;
mod insights;
mod jobs;
mod learn;
mod memory;
mod moa;
mod model;
mod models;
mod new;
mod personality;
mod plan;
mod profile;
mod provider;
mod providers;
mod queue;
mod reasoning;
mod reload_mcp;
mod reload_skills;
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
    &bundles::COMMAND,
    &compress::COMMAND,
    &config::COMMAND,
    &cron::COMMAND,
    &deny::COMMAND,
    &go::COMMAND,
    &help::COMMAND,
    &history::COMMAND,
    &insights::COMMAND,
    &jobs::COMMAND,
    &learn::COMMAND,
    &memory::COMMAND,
    &moa::COMMAND,
    &model::COMMAND,
    &models::COMMAND,
    &new::COMMAND,
    &personality::COMMAND,
    &plan::COMMAND,
    &profile::COMMAND,
    &provider::COMMAND,
    &providers::COMMAND,
    &queue::COMMAND,
    &reasoning::COMMAND,
    &reload_mcp::COMMAND,
    &reload_skills::COMMAND,
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
