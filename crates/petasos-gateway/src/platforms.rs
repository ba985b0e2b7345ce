//! Index of the chat platforms. Kept in step with the folder by the build; do not edit.

mod email;
mod irc;
mod loopback;
mod matrix;
mod mqtt;
mod ntfy;
mod telegram;

pub use self::loopback::{LoopbackMessage, LoopbackServer};
use crate::platform::PlatformDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static PLATFORMS: &[&PlatformDef] = &[
    &email::PLATFORM,
    &irc::PLATFORM,
    &loopback::PLATFORM,
    &matrix::PLATFORM,
    &mqtt::PLATFORM,
    &ntfy::PLATFORM,
    &telegram::PLATFORM,
];
