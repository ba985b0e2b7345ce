//! Letters: how ours are written, and what one that came says.

use std::fmt::Write as _;

use base64::Engine as _;
use mail_parser::{Address, HeaderValue, Message, MessageParser, MimeHeaders as _};
use sha2::{Digest as _, Sha256};

/// A file that goes along.
#[derive(Debug, Clone, Copy)]
pub struct Attached<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its type.
    pub mime: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// A letter of ours.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outgone<'a> {
    /// Who writes.
    pub from: &'a str,
    /// To whom.
    pub to: &'a [&'a str],
    /// Who else reads it.
    pub cc: &'a [&'a str],
    /// What it is about.
    pub subject: Option<&'a str>,
    /// The first letter of its thread.
    pub root: Option<&'a str>,
    /// The letter that it answers.
    pub reply_to: Option<&'a str>,
    /// What its name is made from: the same one gives the same letter.
    pub token: &'a str,
    /// Its words.
    pub plain: &'a str,
    /// Its words with markup.
    pub html: Option<&'a str>,
    /// A file.
    pub file: Option<Attached<'a>>,
    /// Whether a program answers by itself, which others must not answer in turn.
    pub automatic: bool,
}

/// A header value: no line ends, and words of other scripts encoded.
fn word(text: &str) -> String {
    let clean = text.replace(['\r', '\n'], " ");
    if clean.is_ascii() {
        return clean;
    }
    // An encoded word is at most 75 characters long; it is cut between letters.
    let mut words = Vec::new();
    let mut piece = String::new();
    for c in clean.chars() {
        if piece.len() + c.len_utf8() > 42 {
            words.push(std::mem::take(&mut piece));
        }
        piece.push(c);
    }
    words.push(piece);
    let coded = words.iter().map(|piece| {
        format!("=?utf-8?B?{}?=", base64::engine::general_purpose::STANDARD.encode(piece))
    });
    coded.collect::<Vec<_>>().join("\r\n ")
}

/// Base64 in lines.
fn lines(bytes: &[u8]) -> String {
    let coded = base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut out = String::with_capacity(coded.len() + coded.len() / 38);
    for (at, c) in coded.chars().enumerate() {
        if at > 0 && at % 76 == 0 {
            out.push_str("\r\n");
        }
        out.push(c);
    }
    out
}

/// Writing into a text cannot fail.
fn add(text: &mut String, words: std::fmt::Arguments<'_>) {
    if text.write_fmt(words).is_err() {
        tracing::debug!("a text took no more words");
    }
}

fn addresses(all: &[&str]) -> String {
    let bare = all.iter().map(|it| format!("<{}>", it.replace(['\r', '\n', '<', '>', ','], "")));
    bare.collect::<Vec<_>>().join(", ")
}

impl Outgone<'_> {
    /// Its Message-ID, chosen by its token so that a repeat is the same letter, and its text.
    pub fn write(&self) -> (String, String) {
        let whole = format!("{}\n{}\n{}", self.from, self.to.join(","), self.token);
        let digest = Sha256::digest(whole);
        let mark = digest.iter().take(12).fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
        let domain = self.from.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
        let name = format!("{mark:024x}@{domain}");
        let edge = format!("petasos-{mark:024x}");
        let head = self.head(&name);
        let part = |kind: &str, bytes: &[u8], extra: &str| {
            format!(
                "--{edge}\r\nContent-Type: {kind}\r\nContent-Transfer-Encoding: base64\r\n{extra}\r\n{}\r\n",
                lines(bytes)
            )
        };
        let mut body = part("text/plain; charset=utf-8", self.plain.as_bytes(), "");
        let mut kind = "alternative";
        if let Some(html) = self.html {
            body.push_str(&part("text/html; charset=utf-8", html.as_bytes(), ""));
        }
        if let Some(file) = self.file {
            kind = "mixed";
            let label = file.name.replace(['"', '\r', '\n'], "_");
            let extra =
                format!("Content-Disposition: attachment; filename=\"{}\"\r\n", word(&label));
            body.push_str(&part(file.mime, file.bytes, &extra));
        }
        let text = format!(
            "{head}Content-Type: multipart/{kind}; boundary=\"{edge}\"\r\n\r\n{body}--{edge}--\r\n"
        );
        (name, text)
    }

    fn head(&self, name: &str) -> String {
        let subject = self.subject.unwrap_or("petasos");
        let again = self.root.is_some() && !subject.to_lowercase().starts_with("re:");
        let re = if again { "Re: " } else { "" };
        let mut head = format!("From: <{}>\r\nTo: {}\r\n", self.from, addresses(self.to));
        if !self.cc.is_empty() {
            add(&mut head, format_args!("Cc: {}\r\n", addresses(self.cc)));
        }
        let now = jiff::fmt::rfc2822::to_string(&jiff::Zoned::new(
            jiff::Timestamp::now(),
            jiff::tz::TimeZone::UTC,
        ));
        if let Ok(now) = now {
            add(&mut head, format_args!("Date: {now}\r\n"));
        }
        add(
            &mut head,
            format_args!(
                "Subject: {re}{}\r\nMessage-ID: <{name}>\r\nMIME-Version: 1.0\r\n",
                word(subject)
            ),
        );
        if self.automatic {
            head.push_str("Auto-Submitted: auto-replied\r\n");
        }
        let clean = |id: &str| id.replace(['\r', '\n', ' ', '<', '>'], "");
        if let Some(parent) = self.reply_to.or(self.root) {
            add(&mut head, format_args!("In-Reply-To: <{}>\r\n", clean(parent)));
            let root =
                self.root.filter(|root| *root != parent).map(|root| format!("<{}> ", clean(root)));
            add(
                &mut head,
                format_args!("References: {}<{}>\r\n", root.unwrap_or_default(), clean(parent)),
            );
        }
        head
    }
}

/// Who and what, as the head of a letter says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// Who wrote it, as it claims.
    pub from: String,
    /// Where answers are wanted.
    pub reply_to: Option<String>,
    /// To whom.
    pub to: Vec<String>,
    /// Who else.
    pub cc: Vec<String>,
    /// What it is about.
    pub subject: String,
    /// When it was written, as it claims.
    pub date: Option<String>,
    /// Its Message-ID.
    pub id: Option<String>,
    /// The first letter of its thread.
    pub root: Option<String>,
}

/// A letter that came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Letter {
    /// Its head.
    pub head: Head,
    /// Its words, without markup.
    pub text: String,
    /// Names, types and sizes of the files that came along.
    pub files: Vec<(String, String, usize)>,
}

impl Head {
    /// Reads headers.
    pub fn read(raw: &[u8]) -> Self {
        MessageParser::default()
            .parse_headers(raw)
            .map(|message| Self::of(&message))
            .unwrap_or_default()
    }

    fn of(message: &Message<'_>) -> Self {
        let one = |address: Option<&Address<'_>>| people(address).into_iter().next();
        Self {
            from: one(message.from()).unwrap_or_default(),
            reply_to: bare(message.reply_to()),
            to: people(message.to()),
            cc: people(message.cc()),
            subject: message.subject().unwrap_or_default().to_owned(),
            date: message.date().map(mail_parser::DateTime::to_rfc3339),
            id: message.message_id().map(str::to_owned),
            root: first_of(message.references()).or_else(|| first_of(message.in_reply_to())),
        }
    }

    /// The bare address that an answer goes to.
    pub fn answer_to(&self) -> Option<String> {
        if let Some(address) = &self.reply_to {
            return Some(address.clone());
        }
        let inner = self.from.rsplit_once('<').map_or(self.from.as_str(), |(_, rest)| rest);
        let inner = inner.trim_end_matches('>').trim();
        inner.contains('@').then(|| inner.to_owned())
    }
}

impl Letter {
    /// Reads a letter.
    pub fn read(raw: &[u8]) -> Option<Self> {
        let message = MessageParser::default().parse(raw)?;
        let files = message.attachments().map(|part| {
            let name = part.attachment_name().unwrap_or("file").to_owned();
            let kind = part.content_type().map_or_else(
                || "application/octet-stream".to_owned(),
                |kind| format!("{}/{}", kind.c_type, kind.subtype().unwrap_or("octet-stream")),
            );
            (name, kind, part.contents().len())
        });
        let text = message.body_text(0).unwrap_or_default().trim().to_owned();
        Some(Self { head: Head::of(&message), text, files: files.collect() })
    }
}

fn people(address: Option<&Address<'_>>) -> Vec<String> {
    let Some(address) = address else { return Vec::new() };
    let told = address.iter().filter_map(|one| {
        let address = one.address()?;
        Some(match one.name().filter(|name| !name.is_empty()) {
            Some(name) => format!("{name} <{address}>"),
            None => address.to_owned(),
        })
    });
    told.collect()
}

fn bare(address: Option<&Address<'_>>) -> Option<String> {
    address?.first()?.address().map(str::to_owned)
}

/// The first id of a list of them.
pub fn first_of(value: &HeaderValue<'_>) -> Option<String> {
    match value {
        HeaderValue::Text(text) => Some(text.to_string()),
        HeaderValue::TextList(list) => list.first().map(ToString::to_string),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_cannot_be_given_another_header() {
        let out = Outgone {
            from: "bot@petasos.test",
            to: &["una@example.org>\r\nBcc: eve@x"],
            subject: Some("Hi\r\nBcc: eve@x ☃"),
            root: Some("r@x"),
            reply_to: Some("1@x"),
            token: "t",
            plain: "text",
            ..Outgone::default()
        };
        let (name, text) = out.write();
        assert!(!text.lines().any(|line| line.starts_with("Bcc")), "{text}");
        assert_eq!(out.write().0, name, "the same letter again has the same name");
        assert!(text.contains("References: <r@x> <1@x>"));
        let read = Letter::read(text.as_bytes()).unwrap();
        assert_eq!((read.text.as_str(), read.head.root.as_deref()), ("text", Some("r@x")));
    }
}
