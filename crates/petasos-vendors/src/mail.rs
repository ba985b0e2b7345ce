//! Mail: a mailbox by IMAP and SMTP. The protocol is used by the gateway, too; the account that
//! tools read and write is the person's own, in the section `mail`.

pub mod imap;
pub mod letter;
mod search;
pub mod smtp;

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use petasos_contract::settings::Section;
use petasos_contract::{Secret, Settings, wait};
use petasos_net::stream::Protection;
use serde::Deserialize;
use serde_json::{Value, json};

use self::imap::Mailbox;
use self::letter::{Head, Letter, Outgone};
pub use self::search::Query;
use self::smtp::SmtpError;
use crate::fault::VendorError;
use crate::service::variable;
use crate::text::{alike, cut};

/// What is said when there is no account.
pub const NEEDS: &str =
    "needs a mail account: set mail.address, mail.imap_host, mail.smtp_host and MAIL_PASSWORD";

const WITHIN: Duration = Duration::from_mins(1);
const SUBJECT_CHARS: usize = 300;
const RECIPIENTS_MAX: usize = 20;
const BODY_CHARS_MAX: usize = 200_000;

/// The section `mail`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Mail {
    address: Option<String>,
    user: Option<String>,
    imap_host: Option<String>,
    imap_port: Option<u16>,
    smtp_host: Option<String>,
    smtp_port: Option<u16>,
    ca_cert: Option<PathBuf>,
}

impl Section for Mail {
    const NAME: &'static str = "mail";
}

/// The person's account.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its address.
    pub address: String,
    user: String,
    password: Secret,
    imap: (String, u16),
    smtp: (String, u16),
    ca_cert: Option<PathBuf>,
}

/// A letter that is to be written.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// To whom.
    pub to: Vec<String>,
    /// Who else.
    pub cc: Vec<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// Its words.
    pub body: String,
    /// The letter that it answers, by our id.
    pub answers: Option<String>,
}

/// A folder that every mailbox has for the same use, whatever it is called.
#[derive(Debug, Clone, Copy)]
enum Shelf {
    Drafts,
    Sent,
}

/// Whether an account is configured.
pub fn is_set_up(settings: &Settings) -> bool {
    Account::open(settings).is_ok()
}

/// The bare address of somebody, or why it is none.
pub fn address(text: &str) -> Result<String, VendorError> {
    let inner = text.trim();
    let inner = inner.strip_suffix('>').and_then(|it| it.rsplit_once('<')).map_or(inner, |it| it.1);
    let fits = inner
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'))
        && inner.is_ascii()
        && !inner
            .contains(|c: char| c.is_whitespace() || c.is_control() || "<>,;\"()[]\\".contains(c));
    if fits && inner.len() <= 254 {
        return Ok(inner.to_lowercase());
    }
    Err(VendorError::argument(format!("`{}` is no mail address", cut(text, 100))))
}

impl Account {
    /// The account of a snapshot.
    pub fn open(settings: &Settings) -> Result<Self, VendorError> {
        let mail: Mail = settings
            .section()
            .map_err(|error| VendorError::new("missing_setup", error.to_string()))?;
        let password = variable(settings, "MAIL_PASSWORD");
        let missing: Vec<&str> = [
            ("mail.address", mail.address.is_none()),
            ("mail.imap_host", mail.imap_host.is_none()),
            ("mail.smtp_host", mail.smtp_host.is_none()),
            ("MAIL_PASSWORD", password.is_none()),
        ]
        .iter()
        .filter_map(|(name, is_missing)| is_missing.then_some(*name))
        .collect();
        let (Some(given), Some(imap), Some(smtp), Some(password)) =
            (&mail.address, mail.imap_host, mail.smtp_host, password)
        else {
            return Err(VendorError::setup(NEEDS, &missing));
        };
        let own =
            address(given).map_err(|error| VendorError::new("missing_setup", error.message))?;
        Ok(Self {
            user: mail.user.unwrap_or_else(|| own.clone()),
            address: own,
            password,
            imap: (imap, mail.imap_port.unwrap_or(993)),
            smtp: (smtp, mail.smtp_port.unwrap_or(587)),
            ca_cert: mail.ca_cert,
        })
    }

    /// The hosts that reading and sending reach.
    pub fn hosts(&self) -> [&str; 2] {
        [&self.imap.0, &self.smtp.0]
    }

    fn protection(&self) -> Protection<'_> {
        self.ca_cert.as_deref().map_or(Protection::Trusted, Protection::Pinned)
    }

    /// The mailbox, with us let in.
    async fn enter(&self) -> Result<Mailbox, VendorError> {
        let (host, port) = &self.imap;
        let broken = |error: io::Error| self.broken(&error);
        let mut mailbox = Mailbox::connect(host, *port, self.protection()).await.map_err(broken)?;
        if mailbox.log_in(&self.user, &self.password).await.map_err(broken)? {
            return Ok(mailbox);
        }
        let text = format!("{host} refuses mail.user or MAIL_PASSWORD; check both");
        Err(VendorError::new("auth", text))
    }

    fn broken(&self, error: &io::Error) -> VendorError {
        let kind = if error.kind() == io::ErrorKind::TimedOut { "timeout" } else { "upstream" };
        let text = cut(&error.to_string(), 200);
        VendorError::new(kind, format!("the mail server {} failed: {text}", self.imap.0))
    }

    async fn folder(&self, mailbox: &mut Mailbox, folder: &str) -> Result<String, VendorError> {
        let broken = |error: io::Error| self.broken(&error);
        if let Some(validity) = mailbox.open(folder).await.map_err(broken)? {
            return Ok(validity);
        }
        let known = mailbox.folders().await.map_err(broken)?;
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        let mut near = alike(folder, names.iter().copied(), 8);
        if near.is_empty() {
            near = names.iter().take(20).map(|name| (*name).to_owned()).collect();
        }
        let text = format!("there is no mail folder `{}`", cut(folder, 100));
        Err(VendorError::new("not_found", text).with("candidates", near))
    }

    /// Letters that fit, the newest first.
    pub async fn search(&self, query: &Query) -> Result<Value, VendorError> {
        let criteria = query.criteria()?;
        within("mail to be searched", async {
            let broken = |error: io::Error| self.broken(&error);
            let mut mailbox = self.enter().await?;
            let validity = self.folder(&mut mailbox, &query.folder).await?;
            let found = mailbox.search(&criteria).await.map_err(broken)?;
            let newest: Vec<u32> = found.iter().rev().take(query.limit).copied().collect();
            let mut seen = mailbox.glimpses(&newest).await.map_err(broken)?;
            mailbox.leave().await;
            seen.sort_by_key(|it| std::cmp::Reverse(it.uid));
            let rows: Vec<Value> = seen
                .iter()
                .map(|it| {
                    let head = Head::read(&it.head);
                    let has = |flag: &str| it.flags.iter().any(|known| known == flag);
                    json!({
                        "id": format!("{}:{validity}:{}", query.folder, it.uid),
                        "from": cut(&head.from, SUBJECT_CHARS), "to": head.to,
                        "subject": cut(&head.subject, SUBJECT_CHARS), "date": head.date,
                        "unread": !has("\\Seen"), "answered": has("\\Answered"), "bytes": it.size,
                    })
                })
                .collect();
            Ok(json!({
                "success": true, "folder": query.folder, "count": rows.len(),
                "total": found.len(), "messages": rows,
            }))
        })
        .await
    }

    /// One letter; reading it leaves no mark.
    pub async fn read(&self, id: &str, chars: usize) -> Result<Value, VendorError> {
        let letter = self.letter(id).await?;
        let whole = letter.text.chars().count();
        let files: Vec<Value> = letter
            .files
            .iter()
            .map(
                |(name, kind, size)| json!({ "name": cut(name, 200), "type": kind, "bytes": size }),
            )
            .collect();
        let head = letter.head;
        let mut told = json!({
            "success": true, "id": id, "from": head.from, "reply_to": head.reply_to,
            "to": head.to, "cc": head.cc, "subject": head.subject, "date": head.date,
            "text": cut(&letter.text, chars), "attachments": files,
        });
        if let Some(object) = told.as_object_mut().filter(|_| whole > chars) {
            object.insert("total_chars".to_owned(), whole.into());
        }
        Ok(told)
    }

    async fn letter(&self, id: &str) -> Result<Letter, VendorError> {
        let bad = || {
            VendorError::argument("`id` names a letter as a search gave it: folder, number, number")
        };
        let mut parts = id.trim().rsplitn(3, ':');
        let (Some(uid), Some(validity), Some(folder)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(bad());
        };
        let uid: u32 = uid.parse().map_err(|_| bad())?;
        within("a letter", async {
            let mut mailbox = self.enter().await?;
            let now = self.folder(&mut mailbox, folder).await?;
            let raw = if now == validity {
                mailbox.fetch(uid).await.map_err(|error| self.broken(&error))?
            } else {
                Vec::new()
            };
            mailbox.leave().await;
            if raw.is_empty() {
                let text =
                    format!("the letter `{}` is not there any more; search again", cut(id, 100));
                return Err(VendorError::new("stale", text));
            }
            Letter::read(&raw)
                .ok_or_else(|| VendorError::new("upstream", "the letter cannot be read"))
        })
        .await
    }

    /// Everybody whom a letter would go to.
    pub fn recipients(draft: &Draft) -> Result<Vec<String>, VendorError> {
        let mut all = Vec::new();
        for text in draft.to.iter().chain(&draft.cc) {
            let one = address(text)?;
            if !all.contains(&one) {
                all.push(one);
            }
        }
        if all.is_empty() {
            return Err(VendorError::argument("`to` names nobody: give a mail address"));
        }
        if all.len() > RECIPIENTS_MAX {
            let text = format!("more than {RECIPIENTS_MAX} people at once are not written to");
            return Err(VendorError::argument(text));
        }
        Ok(all)
    }

    /// The letter's name and text.
    async fn written(&self, draft: &Draft, token: &str) -> Result<(String, String), VendorError> {
        if draft.body.trim().is_empty() {
            return Err(VendorError::argument("`body` is empty: say what to write"));
        }
        if draft.body.chars().count() > BODY_CHARS_MAX {
            return Err(VendorError::new("too_large", "`body` is longer than 200,000 characters"));
        }
        // Two calls of one name with other words are two letters.
        let token = format!("{token}\n{}\n{}", draft.subject.as_deref().unwrap_or(""), draft.body);
        let bare = |all: &[String]| all.iter().map(|it| address(it)).collect::<Result<Vec<_>, _>>();
        let (to, cc) = (bare(&draft.to)?, bare(&draft.cc)?);
        let answered = match &draft.answers {
            Some(id) => Some(self.letter(id).await?.head),
            None => None,
        };
        let subject = draft.subject.clone().or_else(|| Some(answered.as_ref()?.subject.clone()));
        let parent = answered.as_ref().and_then(|head| head.id.clone());
        let root = answered.and_then(|head| head.root.or(head.id));
        let (to, cc): (Vec<&str>, Vec<&str>) =
            (to.iter().map(String::as_str).collect(), cc.iter().map(String::as_str).collect());
        let letter = Outgone {
            from: &self.address,
            to: &to,
            cc: &cc,
            subject: Some(subject.as_deref().unwrap_or("(no subject)")),
            root: root.as_deref(),
            reply_to: parent.as_deref(),
            token: &token,
            plain: &draft.body,
            ..Outgone::default()
        };
        Ok(letter.write())
    }

    /// Keeps a letter among the drafts, for a person to send.
    pub async fn draft(&self, draft: &Draft, token: &str) -> Result<Value, VendorError> {
        Self::recipients(draft)?;
        let (name, text) = self.written(draft, token).await?;
        let folder = within("a draft to be kept", async {
            let mut mailbox = self.enter().await?;
            let folder = self.put(&mut mailbox, Shelf::Drafts, &text).await?;
            mailbox.leave().await;
            Ok(folder)
        })
        .await?;
        Ok(json!({ "success": true, "folder": folder, "message_id": name, "sent": false }))
    }

    /// Sends a letter, and keeps a copy among those that were sent.
    pub async fn send(&self, draft: &Draft, token: &str) -> Result<Value, VendorError> {
        let all = Self::recipients(draft)?;
        let (name, text) = self.written(draft, token).await?;
        self.post(&all, &text).await?;
        let kept = within("a copy to be kept", async {
            let mut mailbox = self.enter().await?;
            let folder = self.put(&mut mailbox, Shelf::Sent, &text).await?;
            mailbox.leave().await;
            Ok(folder)
        })
        .await;
        let mut told = json!({ "success": true, "to": all, "message_id": name });
        if let Some(object) = told.as_object_mut() {
            match kept {
                Ok(folder) => object.insert("kept_in".to_owned(), folder.into()),
                Err(error) => object.insert(
                    "warnings".to_owned(),
                    json!([format!("it was sent, but no copy is kept: {error}")]),
                ),
            };
        }
        Ok(told)
    }

    /// A short letter to the person themself.
    pub async fn tell_self(
        &self,
        subject: &str,
        body: &str,
        token: &str,
    ) -> Result<(), VendorError> {
        let own = [self.address.clone()];
        let to = [self.address.as_str()];
        let letter = Outgone {
            from: &self.address,
            to: &to,
            subject: Some(subject),
            token,
            plain: body,
            ..Outgone::default()
        };
        self.post(&own, &letter.write().1).await
    }

    async fn post(&self, to: &[String], text: &str) -> Result<(), VendorError> {
        let login = smtp::Login {
            host: &self.smtp.0,
            port: self.smtp.1,
            protection: self.protection(),
            user: &self.user,
            password: &self.password,
        };
        let to: Vec<&str> = to.iter().map(String::as_str).collect();
        let sending = Box::pin(smtp::send(login, &self.address, &to, text));
        let sent = wait::until(Instant::now() + WITHIN, "a letter to be sent", sending).await;
        let host = &self.smtp.0;
        let unsure = |why: &str| {
            let text = format!("whether {host} took the letter is not known: {}", cut(why, 200));
            VendorError::new("timeout", text)
                .with("hint", "look into the sent folder before sending again")
        };
        sent.map_err(|_| unsure("it did not answer in time"))?.map_err(|error| {
            let why = cut(&error.to_string(), 200);
            match error {
                SmtpError::Ambiguous(_) => unsure(&why),
                SmtpError::Transient(_) => {
                    VendorError::new("upstream", format!("{host} takes no letter now: {why}"))
                }
                SmtpError::TooLong(_) => {
                    VendorError::new("too_large", format!("{host} takes no such letter: {why}"))
                }
                SmtpError::Unreachable(_) => VendorError::new(
                    "not_found",
                    format!("{host} does not know one of the recipients: {why}"),
                ),
                SmtpError::Auth(_) => VendorError::new(
                    "auth",
                    format!("{host} refuses mail.user or MAIL_PASSWORD: {why}"),
                ),
            }
        })
    }

    /// Puts a letter into the folder of a special use, or of its usual name, which is made if need
    /// be.
    async fn put(
        &self,
        mailbox: &mut Mailbox,
        into: Shelf,
        letter: &str,
    ) -> Result<String, VendorError> {
        let broken = |error: io::Error| self.broken(&error);
        let (special, usual, flags) = match into {
            Shelf::Drafts => ("\\Drafts", "Drafts", "\\Draft"),
            Shelf::Sent => ("\\Sent", "Sent", "\\Seen"),
        };
        let known = mailbox.folders().await.map_err(broken)?;
        let marked = known.iter().find(|(_, uses)| uses.split_whitespace().any(|it| it == special));
        let named = || known.iter().find(|(name, _)| name.eq_ignore_ascii_case(usual));
        let folder = if let Some((folder, _)) = marked.or_else(named) {
            folder.clone()
        } else {
            mailbox.create(usual).await.map_err(broken)?;
            usual.to_owned()
        };
        mailbox.keep(&folder, flags, letter).await.map_err(broken)?;
        Ok(folder)
    }
}

/// A whole exchange within its time.
async fn within<T>(
    what: &'static str,
    work: impl Future<Output = Result<T, VendorError>>,
) -> Result<T, VendorError> {
    match wait::until(Instant::now() + WITHIN, what, Box::pin(work)).await {
        Ok(done) => done,
        Err(elapsed) => Err(VendorError::new("timeout", elapsed.to_string())),
    }
}
