//! Index of the slash commands. Kept in step with the folder by the build; do not edit.

mod approve;
mod branch;
mod busy;
mod compress;
mod config;
mod deny;
mod footer;
mod help;
mod history;
mod jobs;
mod model;
mod models;
mod new;
mod provider;
mod providers;
mod queue;
mod quit;
mod reasoning;
mod redraw;
mod resume;
mod retry;
mod rollback;
mod save;
mod sessions;
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
    &branch::SLASH,
    &busy::SLASH,
    &compress::SLASH,
    &config::SLASH,
    &deny::SLASH,
    &footer::SLASH,
    &help::SLASH,
    &history::SLASH,
    &jobs::SLASH,
    &model::SLASH,
    &models::SLASH,
    &new::SLASH,
    &provider::SLASH,
    &providers::SLASH,
    &queue::SLASH,
    &quit::SLASH,
    &reasoning::SLASH,
    &redraw::SLASH,
    &resume::SLASH,
    &retry::SLASH,
    &rollback::SLASH,
    &save::SLASH,
    &sessions::SLASH,
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
