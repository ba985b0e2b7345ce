//! `email`: a mailbox by IMAP and SMTP. A thread is a conversation.
//!
//! `From` proves nothing: somebody is let in only when the mail server that we pin says that the
//! address is theirs (`EMAIL_AUTHSERV_ID`). Machines, lists and bounces are not answered. How far
//! was read is a UID, not the mark "seen", which belongs to people.

mod letter;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::stream::Protection;
use petasos_vendors::mail::imap::Mailbox;
use petasos_vendors::mail::letter::{Attached, Outgone};
use petasos_vendors::mail::smtp::{self, Login, SmtpError};
use serde_json::Value;

use self::letter::Letter;
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, SendError, TargetId,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "email",
    about: "a mailbox by IMAP and SMTP",
    toolset: "hermes-email",
    variables: &["EMAIL_ADDRESS", "EMAIL_PASSWORD", "EMAIL_IMAP_HOST", "EMAIL_SMTP_HOST"],
    form: Form { dialect: Dialect::Html, limit: 50_000, unit: Unit::Chars },
    rates: Rates { account: Duration::from_secs(3), chat: Duration::ZERO, burst: 5 },
    media_bytes_max: 20_000_000,
    hint: "The conversation is by mail: answer in one complete message.",
    setup: &[
        "give the agent a mailbox of its own and set EMAIL_ADDRESS, EMAIL_PASSWORD, EMAIL_IMAP_HOST, EMAIL_SMTP_HOST",
        "set EMAIL_ALLOWED_USERS, and EMAIL_AUTHSERV_ID to the name that your mail server writes into Authentication-Results",
    ],
    tested_with: "real Postfix and Dovecot",
    direct: true,
    home: "HOME_ADDRESS",
    target: |text| (PLATFORM.canonical)(text).map(|address| TargetId::chat(&address)),
    canonical: |id| {
        let id = id.trim();
        let (name, host) = id.rsplit_once('@')?;
        let fits = !name.is_empty() && host.contains('.') && !id.contains([' ', '<', '>', ',']);
        fits.then(|| id.to_lowercase())
    },
    open,
    ..PlatformDef::USUAL
};

/// How long a server is waited for before IDLE is said again: it ends by itself after 29 minutes.
const IDLE: Duration = Duration::from_mins(25);

struct Email {
    address: String,
    password: Secret,
    imap: (String, u16),
    smtp: (String, u16),
    authserv: Option<String>,
    trust_from: bool,
    poll: Duration,
    ca_cert: Option<PathBuf>,
    /// Where subjects of threads are kept, while connected.
    link: Mutex<Option<Link>>,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let has = |name: &str| text_of(settings, name);
    let (Some(address), Some(password), Some(imap), Some(smtp)) = (
        has("EMAIL_ADDRESS"),
        has("EMAIL_PASSWORD"),
        has("EMAIL_IMAP_HOST"),
        has("EMAIL_SMTP_HOST"),
    ) else {
        return Ok(Vec::new());
    };
    let address = (PLATFORM.canonical)(&address)
        .ok_or_else(|| format!("EMAIL_ADDRESS `{address}` is no address"))?;
    let port = |name: &str, usual: u16| match has(name) {
        Some(text) => text.parse().map_err(|_| format!("{name} `{text}` is no port")),
        None => Ok(usual),
    };
    let trust_from = has("EMAIL_TRUST_FROM_HEADER")
        .is_some_and(|word| matches!(word.as_str(), "1" | "true" | "yes"));
    if trust_from {
        tracing::warn!("EMAIL_TRUST_FROM_HEADER: everybody can write as everybody");
    }
    let poll = has("EMAIL_POLL_INTERVAL").and_then(|text| text.parse().ok()).unwrap_or(15);
    Ok(vec![Arc::new(Email {
        password: Secret::new(password),
        imap: (imap, port("EMAIL_IMAP_PORT", 993)?),
        smtp: (smtp, port("EMAIL_SMTP_PORT", 587)?),
        authserv: has("EMAIL_AUTHSERV_ID"),
        trust_from,
        poll: Duration::from_secs(poll),
        ca_cert: settings.get("platforms.email.ca_cert").and_then(Value::as_str).map(PathBuf::from),
        address,
        link: Mutex::default(),
    })])
}

impl Email {
    fn protection(&self) -> Protection<'_> {
        self.ca_cert.as_deref().map_or(Protection::Trusted, Protection::Pinned)
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let (host, port) = &self.imap;
        let broken = |error: std::io::Error| LinkError::Lost(error.to_string());
        let mut mailbox = Mailbox::connect(host, *port, self.protection()).await.map_err(broken)?;
        if !mailbox.log_in(&self.address, &self.password).await.map_err(broken)? {
            return Err(LinkError::Fatal(
                "the mail server refuses address and password".to_owned(),
            ));
        }
        let validity = mailbox.select().await.map_err(broken)?;
        let known = link.cursor("uidvalidity").await?;
        let mut last: u32 = if known.as_deref() == Some(validity.as_str()) {
            link.cursor("uid").await?.and_then(|text| text.parse().ok()).unwrap_or(0)
        } else if known.is_none() {
            // The mailbox before the first start is the past.
            mailbox.newest().await.map_err(broken)?
        } else {
            // The numbers are new; what was stored before is known by its Message-ID.
            0
        };
        link.set_cursor("uidvalidity", &validity).await?;
        link.set_cursor("uid", &last.to_string()).await?;
        loop {
            for uid in mailbox.after(last).await.map_err(broken)? {
                link.room().await;
                let raw = mailbox.fetch(uid).await.map_err(broken)?;
                if let Some(letter) = Letter::read(&raw, &self.address) {
                    self.take(link, &letter).await?;
                }
                last = last.max(uid);
                link.set_cursor("uid", &last.to_string()).await?;
            }
            link.progress();
            mailbox.wait(IDLE, self.poll).await.map_err(broken)?;
        }
    }

    async fn take(&self, link: &Link, letter: &Letter) -> Result<(), LinkError> {
        let proven = self.trust_from
            || self.authserv.as_deref().is_some_and(|server| letter.is_proven(server));
        link.set_cursor(&format!("subject:{}", letter.root), &letter.subject).await?;
        let arrival = letter.arrival(link, proven);
        link.take(arrival).await.map_err(LinkError::from)
    }

    async fn post(&self, message: &Outgoing<'_>) -> Result<String, SendError> {
        let link = self.link.lock().clone();
        let root = message.lane.thread.clone();
        let subject = match (&link, &root) {
            (Some(link), Some(root)) => {
                link.cursor(&format!("subject:{root}")).await.ok().flatten()
            }
            _ => None,
        };
        let to = [message.lane.chat.as_str()];
        let bytes = message.media.map(crate::media::read).transpose()?;
        let file = message.media.zip(bytes.as_deref());
        let letter = Outgone {
            from: &self.address,
            to: &to,
            subject: subject.as_deref(),
            root: root.as_deref(),
            reply_to: message.reply_to,
            token: message.token,
            plain: message.plain,
            html: (!message.unmarked && message.media.is_none()).then_some(message.text),
            file: file.map(|(file, bytes)| Attached { name: &file.name, mime: &file.mime, bytes }),
            automatic: true,
            ..Outgone::default()
        };
        let (name, text) = letter.write();
        let login = Login {
            host: &self.smtp.0,
            port: self.smtp.1,
            protection: self.protection(),
            user: &self.address,
            password: &self.password,
        };
        smtp::send(login, &self.address, &to, &text).await?;
        Ok(name)
    }
}

impl From<SmtpError> for SendError {
    fn from(error: SmtpError) -> Self {
        match error {
            SmtpError::Transient(text) => Self::Transient(text),
            SmtpError::Ambiguous(text) => Self::Ambiguous(text),
            SmtpError::TooLong(text) => Self::TooLong(text),
            SmtpError::Unreachable(text) => Self::Unreachable(text),
            SmtpError::Auth(text) => Self::Auth(text),
        }
    }
}

impl Platform for Email {
    fn account(&self) -> &str {
        &self.address
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        *self.link.lock() = Some(link.clone());
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move { self.post(&message).await })
    }
}
