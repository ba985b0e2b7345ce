//! Index of the slash commands. Kept in step with the folder by the build; do not edit.

mod approve;
mod background;
mod branch;
mod busy;
mod compress;
mod config;
mod copy;
mod deny;
mod footer;
mod help;
mod history;
mod jobs;
mod memory;
mod model;
mod models;
mod new;
mod personality;
mod provider;
mod providers;
mod queue;
mod quit;
mod reasoning;
mod redraw;
mod reload_mcp;
mod resume;
mod retry;
mod rollback;
mod save;
mod sessions;
mod skills;
mod status;
mod steer;
mod stop;
mod title;
mod tools;
mod toolsets;
mod undo;
mod usage;
mod verbose;
mod version;
mod yolo;

use crate::command::Slash;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static SLASHES: &[&Slash] = &[
    &approve::SLASH,
    &background::SLASH,
    &branch::SLASH,
    &busy::SLASH,
    &compress::SLASH,
    &config::SLASH,
    &copy::SLASH,
    &deny::SLASH,
    &footer::SLASH,
    &help::SLASH,
    &history::SLASH,
    &jobs::SLASH,
    &memory::SLASH,
    &model::SLASH,
    &models::SLASH,
    &new::SLASH,
    &personality::SLASH,
    &provider::SLASH,
    &providers::SLASH,
    &queue::SLASH,
    &quit::SLASH,
    &reasoning::SLASH,
    &redraw::SLASH,
    &reload_mcp::SLASH,
    &resume::SLASH,
    &retry::SLASH,
    &rollback::SLASH,
    &save::SLASH,
    &sessions::SLASH,
    &skills::SLASH,
    &status::SLASH,
    &steer::SLASH,
    &stop::SLASH,
    &title::SLASH,
    &tools::SLASH,
    &toolsets::SLASH,
    &undo::SLASH,
    &usage::SLASH,
    &verbose::SLASH,
    &version::SLASH,
    &yolo::SLASH,
];
