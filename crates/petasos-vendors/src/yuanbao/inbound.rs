//! Messages for the bot, as they come over an open connection.

use super::wire::{Frame, Head, Message};
use super::{BOTS, CONNECTION, Client, To, WITHIN};
use crate::fault::VendorError;

/// A message that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Its name.
    pub id: String,
    /// Whose account wrote it.
    pub from: String,
    /// What people call them.
    pub nickname: String,
    /// Where an answer goes.
    pub to: To,
    /// What people call the group.
    pub group_name: String,
    /// When, in seconds since 1970.
    pub sent_s: u64,
    /// The words.
    pub text: String,
    /// Names of files that came along.
    pub files: Vec<String>,
    /// Whether it names the bot.
    pub names_us: bool,
    /// How it is confirmed, where the vendor wants to know.
    receipt: Option<Head>,
}

impl Client {
    /// The bot's own account.
    pub fn bot(&self) -> &str {
        &self.account.bot
    }

    /// The next message. Nothing is lost when nobody waits for it any more.
    pub async fn receive(&mut self) -> Result<Inbound, VendorError> {
        loop {
            let (head, body) = match self.pushed.pop_front() {
                Some(pushed) => pushed,
                None => match self.receiver.next_bytes().await {
                    None => return Err(self.gone()),
                    Some(bytes) => match Frame::decode(&bytes?) {
                        Some(frame) => frame,
                        None => continue,
                    },
                },
            };
            if head.is_push && head.command == "kickout" {
                let why = "another program signed in as this bot";
                return Err(VendorError::new("replaced", why));
            }
            if let Some(message) = head.is_push.then(|| read(&head, &body, self.bot())).flatten() {
                return Ok(message);
            }
        }
    }

    /// Tells the vendor that a message was taken.
    pub async fn confirm(&mut self, message: &Inbound) -> Result<(), VendorError> {
        let Some(head) = &message.receipt else { return Ok(()) };
        let frame = Frame::receipt(head).encode(&Message::default());
        Ok(self.sender.send_bytes(frame, WITHIN).await?)
    }

    /// A sign of life, and whether the other side gives one.
    pub async fn ping(&mut self) -> Result<(), VendorError> {
        self.ask("ping", CONNECTION, &Message::default()).await.map(drop)
    }

    /// Tells a person that an answer is being written.
    pub async fn writing(&mut self, to: &To) -> Result<(), VendorError> {
        const RUNNING: u64 = 1;
        let own = self.account.bot.clone();
        let (command, body) = match to {
            To::Person { user, .. } => (
                "send_private_heartbeat",
                Message::default().text(1, &own).text(2, user).count(3, RUNNING),
            ),
            To::Group(code) => (
                "send_group_heartbeat",
                Message::default().text(1, &own).text(3, code).count(5, RUNNING),
            ),
        };
        self.ask(command, BOTS, &body).await.map(drop)
    }
}

/// A pushed frame as a message; nothing when it is none.
fn read(head: &Head, body: &Message, bot: &str) -> Option<Inbound> {
    let (from, id) = (body.said(2), body.said(12));
    if from.is_empty() || from == bot {
        return None;
    }
    let (mut words, mut files, mut names_us) = (Vec::new(), Vec::new(), false);
    for element in body.all(13) {
        let content = element.inner(2).unwrap_or_default();
        match element.said(1).as_str() {
            "TIMTextElem" => words.push(content.said(1)),
            "TIMFileElem" => files.push(content.said(12)),
            "TIMImageElem" => files.push("picture".to_owned()),
            "TIMSoundElem" => files.push("recording".to_owned()),
            // A mention is the vendor's own element with the account in it.
            "TIMCustomElem" => {
                let data: serde_json::Value =
                    serde_json::from_str(&content.said(4)).unwrap_or_default();
                names_us |= data.get("user_id").and_then(serde_json::Value::as_str) == Some(bot);
            }
            _ => {}
        }
    }
    let text = words.concat();
    if text.trim().is_empty() && files.is_empty() {
        return None;
    }
    let code = body.said(6);
    let met = Some(body.said(19)).filter(|code| !code.is_empty());
    let to = if code.is_empty() {
        To::Person { user: from.clone(), group: met }
    } else {
        To::Group(code)
    };
    let id = if id.is_empty() { format!("{}-{}", body.number(8), body.number(9)) } else { id };
    Some(Inbound {
        id,
        nickname: body.said(4),
        to,
        group_name: body.said(7),
        sent_s: body.number(10),
        text: text.trim().to_owned(),
        files,
        names_us,
        receipt: head.wants_receipt.then(|| head.clone()),
        from,
    })
}
