//! Vendors that cannot run here, each from its published interface.

pub(crate) mod discord;
pub(crate) mod mattermost;
pub(crate) mod ntfy;
pub(crate) mod signal;
pub(crate) mod slack;
