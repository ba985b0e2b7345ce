//! Index of the chat platforms. Kept in step with the folder by the build; do not edit.

mod discord;
mod email;
mod homeassistant;
mod irc;
mod loopback;
mod matrix;
mod mattermost;
mod mqtt;
mod ntfy;
mod signal;
mod slack;
mod sms;
mod telegram;
mod whatsapp_cloud;
mod xmpp;

pub use self::loopback::{LoopbackMessage, LoopbackServer};
use crate::platform::PlatformDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static PLATFORMS: &[&PlatformDef] = &[
    &discord::PLATFORM,
    &email::PLATFORM,
    &homeassistant::PLATFORM,
    &irc::PLATFORM,
    &loopback::PLATFORM,
    &matrix::PLATFORM,
    &mattermost::PLATFORM,
    &mqtt::PLATFORM,
    &ntfy::PLATFORM,
    &signal::PLATFORM,
    &slack::PLATFORM,
    &sms::PLATFORM,
    &telegram::PLATFORM,
    &whatsapp_cloud::PLATFORM,
    &xmpp::PLATFORM,
];
