//! Index of the commands of the screen. Kept in step with the folder by the build; do not edit.

mod busy;
mod copy;
mod diff;
mod footer;
mod help;
mod model;
mod quit;
mod reasoning;
mod redraw;
mod resume;
mod rollback;
mod skin;
mod undo;
mod verbose;
mod vim;
mod voice;

use crate::command::Slash;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static SLASHES: &[&Slash] = &[
    &busy::SLASH,
    &copy::SLASH,
    &diff::SLASH,
    &footer::SLASH,
    &help::SLASH,
    &model::SLASH,
    &quit::SLASH,
    &reasoning::SLASH,
    &redraw::SLASH,
    &resume::SLASH,
    &rollback::SLASH,
    &skin::SLASH,
    &undo::SLASH,
    &verbose::SLASH,
    &vim::SLASH,
    &voice::SLASH,
];
