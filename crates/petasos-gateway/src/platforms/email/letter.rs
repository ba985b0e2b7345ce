//! Letters that come: what one says, and whether its sender is proven.

use mail_parser::{MessageParser, MimeHeaders as _};
use petasos_store::{ChatKind, MediaFile};
use petasos_vendors::mail::letter::first_of;
use sha2::{Digest as _, Sha256};

use crate::link::Link;
use crate::platform::{Arrival, Sender, now_ms};
use crate::render::add;

/// How much of what somebody quotes is kept.
const QUOTE_CHARS_MAX: usize = 4000;

/// A letter that came.
#[derive(Debug)]
pub(super) struct Letter {
    id: String,
    /// The first letter of its thread.
    pub(super) root: String,
    pub(super) subject: String,
    from: String,
    name: String,
    text: String,
    quoted: String,
    sent_ms: i64,
    files: Vec<(String, String, Vec<u8>)>,
    results: Vec<String>,
}

impl Letter {
    /// Reads a letter; nothing when a machine wrote it, or we did.
    pub(super) fn read(raw: &[u8], own: &str) -> Option<Self> {
        let message = MessageParser::default().parse(raw)?;
        let header = |name: &str| message.header_raw(name).map(|text| text.trim().to_lowercase());
        let from = message.from()?.first()?;
        let address = from.address()?.to_lowercase();
        let automatic = header("Auto-Submitted").is_some_and(|word| word != "no")
            || header("Precedence")
                .is_some_and(|word| matches!(word.as_str(), "bulk" | "junk" | "list"))
            || header("Return-Path").is_some_and(|path| path == "<>")
            || message.headers().iter().any(|it| it.name().to_lowercase().starts_with("list-"))
            || message
                .content_type()
                .is_some_and(|kind| kind.c_type == "multipart" && kind.subtype() == Some("report"));
        if automatic
            || address == own
            || address.starts_with("mailer-daemon@")
            || address.starts_with("no-reply@")
        {
            return None;
        }
        let digest = || format!("{:x}", Sha256::digest(raw));
        let id = message.message_id().map_or_else(digest, str::to_owned);
        let root = first_of(message.references())
            .or_else(|| first_of(message.in_reply_to()))
            .unwrap_or_else(|| id.clone());
        let body = message.body_text(0).unwrap_or_default();
        let (text, quoted) = without_quote(&body);
        let files = message.attachments().map(|part| {
            let name = part.attachment_name().unwrap_or("file").to_owned();
            let mime = part.content_type().map_or_else(
                || "application/octet-stream".to_owned(),
                |kind| format!("{}/{}", kind.c_type, kind.subtype().unwrap_or("octet-stream")),
            );
            (name, mime, part.contents().to_vec())
        });
        let results = message
            .headers()
            .iter()
            .filter(|it| it.name().eq_ignore_ascii_case("Authentication-Results"));
        let results = results.map(|it| {
            raw.get(it.offset_start() as usize..it.offset_end() as usize)
                .map(|bytes| String::from_utf8_lossy(bytes).to_lowercase())
                .unwrap_or_default()
        });
        Some(Self {
            subject: message.subject().unwrap_or_default().to_owned(),
            name: from.name().unwrap_or_default().to_owned(),
            sent_ms: message.date().map_or_else(now_ms, |date| date.to_timestamp() * 1000),
            files: files.collect(),
            results: results.collect(),
            id,
            root,
            from: address,
            text,
            quoted,
        })
    }

    /// Whether the server that we pin says that the address is the sender's. Only its topmost
    /// header counts: those below came with the letter.
    pub(super) fn is_proven(&self, server: &str) -> bool {
        let Some(top) = self.results.first() else { return false };
        let mut parts = top.split(';').map(str::trim);
        if parts.next().and_then(|name| name.split_whitespace().next())
            != Some(&server.to_lowercase())
        {
            return false;
        }
        let domain = self.from.rsplit_once('@').map(|(_, domain)| domain).unwrap_or_default();
        parts.any(|part| {
            let passed = |method: &str| part.starts_with(&format!("{method}=pass"));
            let names = |key: &str| {
                part.split_whitespace().any(|word| {
                    word.strip_prefix(key)
                        .is_some_and(|value| value.rsplit('@').next() == Some(domain))
                })
            };
            passed("dmarc")
                || (passed("spf") && names("smtp.mailfrom="))
                || (passed("dkim") && names("header.d="))
        })
    }

    /// The letter in everybody's words. A sender who is not proven has no identity.
    pub(super) fn arrival(&self, link: &Link, proven: bool) -> Arrival {
        let mut media = Vec::new();
        let mut text = self.text.clone();
        for (name, mime, bytes) in &self.files {
            match kept(link, mime, bytes) {
                Ok(path) => media.push(MediaFile { path, mime: mime.clone(), name: name.clone() }),
                Err(why) => {
                    add(&mut text, format_args!("\n[the file `{name}` is not kept: {why}]"));
                }
            }
        }
        Arrival {
            sent_ms: self.sent_ms,
            chat_kind: ChatKind::Dm,
            chat_name: self.name.clone(),
            thread: Some(self.root.clone()),
            sender: Sender {
                id: proven.then(|| self.from.clone()),
                name: self.name.clone(),
                ..Sender::default()
            },
            message: self.id.clone(),
            media,
            addressed: true,
            quoted: Some(self.quoted.clone()).filter(|quoted| !quoted.is_empty()),
            ..Arrival::text(&self.from, &self.from, &self.id, &text)
        }
    }
}

fn kept(link: &Link, mime: &str, bytes: &[u8]) -> Result<String, String> {
    use std::io::Write as _;
    let path = link.media_path(mime)?;
    let mut open = std::fs::OpenOptions::new();
    open.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let mut file = open.open(&path).map_err(|error| error.to_string())?;
    file.write_all(bytes).map_err(|error| error.to_string())?;
    Ok(path.display().to_string())
}

/// What the sender wrote, and what they quote below it.
fn without_quote(body: &str) -> (String, String) {
    let lines: Vec<&str> = body.lines().collect();
    let is_mark = |line: &str| {
        let line = line.trim();
        line.starts_with('>')
            || line.starts_with("-----Original Message")
            || (line.starts_with("On ") && line.ends_with("wrote:"))
    };
    let cut = lines.iter().position(|line| is_mark(line)).unwrap_or(lines.len());
    let (own, quoted) = lines.split_at_checked(cut).unwrap_or((&lines, &[]));
    let quoted: String = quoted.join("\n").chars().take(QUOTE_CHARS_MAX).collect();
    (own.join("\n").trim().to_owned(), quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(headers: &str) -> Option<Letter> {
        let raw = format!(
            "From: Una <una@example.org>\r\nTo: bot@petasos.test\r\nSubject: Hi\r\nMessage-ID: <1@x>\r\n{headers}\r\nhello\r\n\r\nOn Monday, bot wrote:\r\n> old words\r\n"
        );
        Letter::read(raw.as_bytes(), "bot@petasos.test")
    }

    #[test]
    fn s38_t8_only_the_pinned_server_proves_a_sender() {
        let proven = |headers: &str| letter(headers).unwrap().is_proven("mx.test");
        assert!(proven("Authentication-Results: mx.test; dmarc=pass header.from=example.org\r\n"));
        assert!(proven(
            "Authentication-Results: mx.test; spf=pass smtp.mailfrom=una@example.org\r\n"
        ));
        assert!(proven("Authentication-Results: mx.test; dkim=pass header.d=example.org\r\n"));
        for forged in [
            "",
            "Authentication-Results: evil.test; dmarc=pass\r\n",
            "Authentication-Results: mx.test; dmarc=fail\r\n",
            "Authentication-Results: mx.test; spf=pass smtp.mailfrom=x@evil.test\r\n",
            "Authentication-Results: mx.test; dkim=pass header.d=evil.test\r\n",
            "Authentication-Results: mx.test; dmarc=fail\r\nAuthentication-Results: mx.test; dmarc=pass\r\n",
            "Authentication-Results: mx.test.evil; dmarc=pass\r\n",
        ] {
            assert!(!proven(forged), "{forged}");
        }
    }

    #[test]
    fn t9_machines_are_not_answered() {
        for header in
            ["Auto-Submitted: auto-replied", "Precedence: bulk", "List-Id: <x>", "Return-Path: <>"]
        {
            assert!(letter(&format!("{header}\r\n")).is_none(), "{header}");
        }
        let own =
            letter("References: <root@x> <2@x>\r\nIn-Reply-To: <2@x>\r\nAuto-Submitted: no\r\n")
                .unwrap();
        assert_eq!((own.text.as_str(), own.root.as_str()), ("hello", "root@x"));
        assert!(own.quoted.contains("old words"));
    }
}
