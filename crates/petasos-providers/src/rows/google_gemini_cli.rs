//! Google Gemini (OAuth).

use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "google-gemini-cli",
    name: "Google Gemini (OAuth)",
    aliases: &["gemini-cli", "gemini-oauth"],
    auth: Auth::External,
    base_url: "cloudcode-pa://google",
    key_hosts: &["cloudcode-pa.googleapis.com"],
    token_hosts: &["accounts.google.com", "oauth2.googleapis.com"],
    ..Row::EMPTY
};
