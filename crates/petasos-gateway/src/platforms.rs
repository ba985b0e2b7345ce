//! Index of the chat platforms. Kept in step with the folder by the build; do not edit.

mod bluebubbles;
mod dingtalk;
mod discord;
mod email;
mod feishu;
mod homeassistant;
mod irc;
mod loopback;
mod matrix;
mod mattermost;
mod mqtt;
mod ntfy;
mod qqbot;
mod signal;
mod slack;
mod sms;
mod telegram;
mod wecom;
mod wecom_callback;
mod weixin;
mod whatsapp;
mod whatsapp_cloud;
mod xmpp;
mod yuanbao;

pub use self::loopback::{LoopbackMessage, LoopbackServer};
use crate::platform::PlatformDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static PLATFORMS: &[&PlatformDef] = &[
    &bluebubbles::PLATFORM,
    &dingtalk::PLATFORM,
    &discord::PLATFORM,
    &email::PLATFORM,
    &feishu::PLATFORM,
    &homeassistant::PLATFORM,
    &irc::PLATFORM,
    &loopback::PLATFORM,
    &matrix::PLATFORM,
    &mattermost::PLATFORM,
    &mqtt::PLATFORM,
    &ntfy::PLATFORM,
    &qqbot::PLATFORM,
    &signal::PLATFORM,
    &slack::PLATFORM,
    &sms::PLATFORM,
    &telegram::PLATFORM,
    &wecom::PLATFORM,
    &wecom_callback::PLATFORM,
    &weixin::PLATFORM,
    &whatsapp::PLATFORM,
    &whatsapp_cloud::PLATFORM,
    &xmpp::PLATFORM,
    &yuanbao::PLATFORM,
];
