//! Vendors that cannot run here, each from its published interface.

pub(crate) mod bluebubbles;
pub(crate) mod dingtalk;
pub(crate) mod discord;
pub(crate) mod feishu;
pub(crate) mod mattermost;
pub(crate) mod ntfy;
pub(crate) mod qqbot;
pub(crate) mod signal;
pub(crate) mod slack;
pub(crate) mod sms;
pub(crate) mod wecom;
pub(crate) mod wecom_callback;
pub(crate) mod weixin;
pub(crate) mod whatsapp;
pub(crate) mod whatsapp_cloud;
pub(crate) mod yuanbao;
