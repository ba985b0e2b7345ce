//! What Discord is sent, and what its refusals mean.

use std::time::Duration;

use petasos_store::CardButton;
use serde_json::{Value, json};

use super::said;
use crate::api::{ApiAnswer, of_status};
use crate::platform::{Outgoing, SendError};
use crate::render::add;

/// A button with this style is grey.
const BUTTON_SECONDARY: u8 = 2;

/// The body of a message.
pub(super) fn body(message: &Outgoing<'_>) -> Value {
    let mut body = json!({
        "content": message.text,
        "nonce": nonce(message.token),
        "enforce_nonce": true,
        "allowed_mentions": { "parse": [] },
    });
    if let Some(to) = message.reply_to {
        body["message_reference"] = json!({ "message_id": to, "fail_if_not_exists": false });
    }
    let row = |row: &[CardButton]| {
        let button = |it: &CardButton| json!({ "type": 2, "style": BUTTON_SECONDARY, "label": it.label, "custom_id": it.data });
        json!({ "type": 1, "components": row.iter().map(button).collect::<Vec<_>>() })
    };
    if !message.buttons.is_empty() {
        body["components"] = message.buttons.chunks(5).map(row).collect();
    }
    body
}

/// At most 25 characters that stay the same when it is sent again.
fn nonce(token: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(token.as_bytes());
    let mut out = String::new();
    for byte in digest.iter().take(12) {
        add(&mut out, format_args!("{byte:02x}"));
    }
    out
}

/// Why it was not taken.
pub(super) fn refused(answer: &ApiAnswer) -> SendError {
    let body = answer.body.to_string();
    if answer.status == 429 {
        let wait = answer.body.get("retry_after").and_then(Value::as_f64);
        let wait = wait.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 3600.0)));
        let after = wait.or(answer.retry_after).unwrap_or(Duration::from_secs(5));
        return SendError::RateLimited { after };
    }
    if answer.status == 400 && body.contains("BASE_TYPE_MAX_LENGTH") {
        return SendError::TooLong(said(answer));
    }
    of_status(answer, &said(answer))
}
