//! `xmpp`: a Jabber account: people, and rooms that show who is who.
//!
//! What came while we were away is read from the server's archive, which also names every message.
//! A room that hides its people gives nobody an identity, so nobody there is served. Encrypted
//! messages are refused in words.

mod event;
mod files;
mod login;
mod scram;
mod xml;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::Net;
use petasos_net::stream::Wire;
use petasos_store::Lane;
use tokio::io::{AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::oneshot;

use self::event::milliseconds;
use self::xml::{Element, Stanzas, escaped};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, SendError, TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "xmpp",
    about: "XMPP (Jabber): direct messages and rooms",
    toolset: "hermes-xmpp",
    variables: &["XMPP_JID", "XMPP_PASSWORD"],
    form: Form { dialect: Dialect::Plain, limit: 10_000, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(50), chat: Duration::from_millis(200), burst: 5 },
    edits: Some(Duration::from_secs(2)),
    media_bytes_max: 20 * 1024 * 1024,
    typing: Some(Duration::from_secs(20)),
    mention: true,
    hint: "The conversation is on XMPP: plain text, no Markdown.",
    setup: &[
        "register an account for the agent, and set XMPP_JID (bot@example.org) and XMPP_PASSWORD; XMPP_HOST where the server has another name",
        "put addresses into XMPP_ALLOWED_USERS; XMPP_ROOMS lists rooms, which must show the addresses of their people",
    ],
    tested_with: "a real prosody",
    target: |text| (PLATFORM.canonical)(text).map(|jid| TargetId::chat(&jid)),
    canonical: |id| {
        let (name, host) = bare(id.trim()).split_once('@')?;
        let fits = !name.is_empty() && !host.is_empty() && !id.contains([' ', '<', '>', '"', '\'']);
        fits.then(|| bare(id.trim()).to_lowercase())
    },
    open,
    ..PlatformDef::USUAL
};

const LOGIN: Duration = Duration::from_secs(30);
const CONFIRM: Duration = Duration::from_secs(15);
/// A server that says nothing for so long is asked; for twice as long it is gone.
const SILENCE: Duration = Duration::from_mins(1);
const MAM: &str = "urn:xmpp:mam:2";
const SID: &str = "urn:xmpp:sid:0";
const MUC: &str = "http://jabber.org/protocol/muc";
const MUC_USER: &str = "http://jabber.org/protocol/muc#user";
const OMEMO: &str = "eu.siacs.conversations.axolotl";

type Reader = Stanzas<ReadHalf<Box<dyn Wire>>>;
type Writer = WriteHalf<Box<dyn Wire>>;
type Confirmed = oneshot::Sender<Result<(), String>>;

struct Xmpp {
    jid: String,
    password: Secret,
    host: String,
    port: u16,
    ca_cert: Option<PathBuf>,
    rooms: Vec<String>,
    writer: tokio::sync::Mutex<Option<Writer>>,
    next: AtomicU64,
    /// Who waits for an answer to a question or for the fate of a message.
    waiting: Mutex<HashMap<String, Confirmed>>,
    /// Who waits for what a question is answered with.
    answers: Mutex<HashMap<String, oneshot::Sender<Element>>>,
    /// Who somebody in a room is.
    people: Mutex<HashMap<String, String>>,
    net: Arc<Net>,
    /// Who keeps files for people, once that is known.
    store: Mutex<Option<files::FileStore>>,
}

fn bare(jid: &str) -> &str {
    jid.split('/').next().unwrap_or(jid)
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let (Some(jid), Some(password)) =
        (text_of(settings, "XMPP_JID"), text_of(settings, "XMPP_PASSWORD"))
    else {
        return Ok(Vec::new());
    };
    let jid =
        (PLATFORM.canonical)(&jid).ok_or_else(|| format!("XMPP_JID `{jid}` is no address"))?;
    let domain = jid.split('@').nth(1).unwrap_or_default().to_owned();
    let host = text_of(settings, "XMPP_HOST").unwrap_or(domain);
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) => {
            let number = port.parse().map_err(|_| format!("XMPP_HOST: `{port}` is no port"))?;
            (host.to_owned(), number)
        }
        None => (host, 5222),
    };
    let rooms = text_of(settings, "XMPP_ROOMS").unwrap_or_default();
    let rooms = rooms.split(',').map(str::trim).filter(|room| !room.is_empty());
    let rooms = rooms.map(|room| {
        (PLATFORM.canonical)(room).ok_or_else(|| format!("XMPP_ROOMS: `{room}` is no room"))
    });
    Ok(vec![Arc::new(Xmpp {
        rooms: rooms.collect::<Result<_, _>>()?,
        password: Secret::new(password),
        ca_cert: settings.text("platforms.xmpp.ca_cert").map(PathBuf::from),
        jid,
        host,
        port,
        writer: tokio::sync::Mutex::new(None),
        next: AtomicU64::new(1),
        waiting: Mutex::default(),
        answers: Mutex::default(),
        people: Mutex::default(),
        net: Arc::clone(opening.net),
        store: Mutex::default(),
    })])
}

impl Xmpp {
    fn domain(&self) -> &str {
        self.jid.split('@').nth(1).unwrap_or_default()
    }

    fn user(&self) -> &str {
        self.jid.split('@').next().unwrap_or_default()
    }

    fn id(&self, what: &str) -> String {
        format!("{what}-{}", self.next.fetch_add(1, Ordering::Relaxed))
    }

    async fn say(&self, stanza: &str) -> Result<(), SendError> {
        let mut writer = self.writer.lock().await;
        let Some(open) = writer.as_mut() else {
            return Err(SendError::Transient("not connected".to_owned()));
        };
        open.write_all(stanza.as_bytes()).await.map_err(|error| {
            // Part of it may have arrived.
            SendError::Ambiguous(error.to_string())
        })
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let connected = tokio::time::timeout(LOGIN, self.connect()).await;
        let (mut reader, writer) =
            connected.map_err(|_| LinkError::Lost("the server does not answer".to_owned()))??;
        *self.writer.lock().await = Some(writer);
        let ended = self.listen(link, &mut reader).await;
        *self.writer.lock().await = None;
        self.waiting.lock().clear();
        self.answers.lock().clear();
        ended
    }

    async fn listen(&self, link: &Link, reader: &mut Reader) -> Result<(), LinkError> {
        let lost = |error: SendError| LinkError::Lost(error.to_string());
        self.say("<presence/>").await.map_err(lost)?;
        for room in &self.rooms {
            let join = format!(
                "<presence to='{}/{}'><x xmlns='{MUC}'><history maxstanzas='0'/></x></presence>",
                escaped(room),
                escaped(self.user())
            );
            self.say(&join).await.map_err(lost)?;
        }
        self.ask_archive(link).await?;
        link.progress();
        let mut asked = false;
        loop {
            let Ok(stanza) = tokio::time::timeout(SILENCE, reader.next()).await else {
                if asked {
                    return Err(LinkError::Lost("the server gives no sign of life".to_owned()));
                }
                self.say(&ping(&self.id("alive"))).await.map_err(lost)?;
                asked = true;
                continue;
            };
            asked = false;
            let stanza = stanza.map_err(|error| LinkError::Lost(error.to_string()))?;
            self.stanza(link, &stanza).await?;
        }
    }

    /// Asks for what came since the last message that was stored; the first time, where the archive
    /// ends.
    async fn ask_archive(&self, link: &Link) -> Result<(), LinkError> {
        let place = match link.cursor("archive").await? {
            Some(last) if last.is_empty() => "<max>100</max>".to_owned(),
            Some(last) => format!("<max>100</max><after>{}</after>", escaped(&last)),
            None => "<max>1</max><before/>".to_owned(),
        };
        let ask = format!(
            "<iq type='set' id='{}'><query xmlns='{MAM}' queryid='since'>\
             <set xmlns='http://jabber.org/protocol/rsm'>{place}</set></query></iq>",
            self.id("archive")
        );
        self.say(&ask).await.map_err(|error| LinkError::Lost(error.to_string()))
    }

    async fn stanza(&self, link: &Link, stanza: &Element) -> Result<(), LinkError> {
        match stanza.name.as_str() {
            "iq" => {
                if stanza.get("type") == "get" {
                    let answer = format!(
                        "<iq type='result' to='{}' id='{}'/>",
                        escaped(stanza.get("from")),
                        escaped(stanza.get("id"))
                    );
                    return self.say(&answer).await.map_err(|it| LinkError::Lost(it.to_string()));
                }
                let asked = self.answers.lock().remove(stanza.get("id"));
                if let Some(asked) = asked {
                    drop(asked.send(stanza.clone()));
                }
                let waits = self.waiting.lock().remove(stanza.get("id"));
                if let Some(waits) = waits {
                    // Whoever waited may be gone.
                    drop(waits.send(Ok(())));
                }
                match stanza.child_of("fin", MAM) {
                    Some(fin) => self.page_ended(link, fin).await,
                    None => Ok(()),
                }
            }
            "presence" => {
                let item = stanza.child_of("x", MUC_USER).and_then(|x| x.child("item"));
                if let Some(jid) = item.map(|item| item.get("jid")).filter(|jid| !jid.is_empty()) {
                    let who = bare(jid).to_lowercase();
                    self.people.lock().insert(stanza.get("from").to_owned(), who);
                }
                Ok(())
            }
            "message" => self.message(link, stanza).await,
            "error" => Err(LinkError::Lost("the server reports a broken stream".to_owned())),
            _ => Ok(()),
        }
    }

    /// A page of the archive is over; where more follows, it is asked for.
    async fn page_ended(&self, link: &Link, fin: &Element) -> Result<(), LinkError> {
        let more = fin.child("set").is_some_and(|set| set.child("last").is_some());
        match link.cursor("archive").await? {
            // An archive that is empty is read from its beginning from now on.
            None => link.set_cursor("archive", "").await.map_err(LinkError::from),
            Some(last) if fin.get("complete") != "true" && more && !last.is_empty() => {
                self.ask_archive(link).await
            }
            Some(_) => Ok(()),
        }
    }

    async fn message(&self, link: &Link, stanza: &Element) -> Result<(), LinkError> {
        if let Some(result) = stanza.child_of("result", MAM) {
            let first = link.cursor("archive").await?.is_none();
            let forwarded = result.child("forwarded");
            let stamp = forwarded.and_then(|it| it.child("delay")).map(|it| it.get("stamp"));
            // The archive before the first start is the past.
            if let Some(inner) = forwarded.and_then(|it| it.child("message")).filter(|_| !first) {
                self.take(link, inner, (result.get("id"), stamp)).await?;
            }
            return link.set_cursor("archive", result.get("id")).await.map_err(LinkError::from);
        }
        if stanza.get("type") == "error" {
            let waits = self.waiting.lock().remove(stanza.get("id"));
            if let Some(waits) = waits {
                let why = stanza.child("error").and_then(|it| it.children.first());
                let why = why.map_or("refused", |why| why.name.as_str()).to_owned();
                drop(waits.send(Err(why)));
            }
            return Ok(());
        }
        let named = stanza.children.iter().find(|child| {
            child.name == "stanza-id"
                && child.get("xmlns") == SID
                && bare(child.get("by")) == self.jid
        });
        let archived = named.map(|it| it.get("id")).unwrap_or_default();
        let stamp = stanza.child("delay").map(|it| it.get("stamp"));
        self.take(link, stanza, (archived, stamp)).await?;
        if archived.is_empty() {
            return Ok(());
        }
        link.set_cursor("archive", archived).await.map_err(LinkError::from)
    }

    async fn take(
        &self,
        link: &Link,
        stanza: &Element,
        (archived, stamp): (&str, Option<&str>),
    ) -> Result<(), LinkError> {
        let Some(mut arrival) = self.arrival(stanza) else { return Ok(()) };
        if !archived.is_empty() {
            archived.clone_into(&mut arrival.dedup);
        }
        if let Some(sent) = stamp.and_then(milliseconds) {
            arrival.sent_ms = sent;
        }
        if stanza.child_of("encrypted", OMEMO).is_some() {
            let told = "I cannot read encrypted messages here: turn encryption off for this chat.";
            let to = bare(stanza.get("from"));
            let answer = message(to, "chat", &self.id("encrypted"), told, "");
            return self.say(&answer).await.map_err(|error| LinkError::Lost(error.to_string()));
        }
        self.with_file(link, stanza, &mut arrival).await;
        link.room().await;
        link.take(arrival).await.map_err(LinkError::from)
    }

    /// Sends a stanza, and waits until the server has dealt with it: it answers in order.
    async fn confirmed(&self, stanza: &str, id: &str) -> Result<(), SendError> {
        let ping_id = self.id("sent");
        let (done, answer) = oneshot::channel();
        let (bounced, bounce) = oneshot::channel();
        self.waiting.lock().insert(ping_id.clone(), done);
        self.waiting.lock().insert(id.to_owned(), bounced);
        let answered = async {
            self.say(&format!("{stanza}{}", ping(&ping_id))).await?;
            tokio::select! {
                answer = answer => answer.map(|_| ()).map_err(|_| unconfirmed()),
                Ok(bounce) = bounce => bounce.map_err(SendError::Unreachable),
            }
        };
        let outcome = tokio::time::timeout(CONFIRM, answered).await;
        let outcome = outcome.unwrap_or_else(|_| Err(unconfirmed()));
        self.waiting.lock().remove(&ping_id);
        self.waiting.lock().remove(id);
        outcome
    }

    fn kind_of(&self, lane: &Lane) -> &'static str {
        if self.rooms.contains(&lane.chat) { "groupchat" } else { "chat" }
    }
}

fn unconfirmed() -> SendError {
    SendError::Ambiguous("the server did not confirm".to_owned())
}

fn message(to: &str, kind: &str, id: &str, body: &str, more: &str) -> String {
    let (to, id, body) = (escaped(to), escaped(id), escaped(body));
    format!(
        "<message to='{to}' type='{kind}' id='{id}'><body>{body}</body>\
         <origin-id xmlns='{SID}' id='{id}'/>{more}</message>"
    )
}

fn ping(id: &str) -> String {
    format!("<iq type='get' id='{id}'><ping xmlns='urn:xmpp:ping'/></iq>")
}

impl Platform for Xmpp {
    fn account(&self) -> &str {
        &self.jid
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, outgoing: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let (lane, id) = (outgoing.lane, outgoing.token);
            let stanza = match outgoing.media {
                Some(file) => {
                    let (url, more) = self.uploaded(file).await?;
                    message(&lane.chat, self.kind_of(lane), id, &url, &more)
                }
                None => message(&lane.chat, self.kind_of(lane), id, outgoing.text, ""),
            };
            self.confirmed(&stanza, id).await?;
            Ok(id.to_owned())
        })
    }

    fn edit<'a>(
        &'a self,
        lane: &'a Lane,
        name: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let id = self.id(&format!("edit-{}", now_ms()));
            let replaced = escaped(name);
            let more = format!("<replace id='{replaced}' xmlns='urn:xmpp:message-correct:0'/>");
            let stanza = message(&lane.chat, self.kind_of(lane), &id, text, &more);
            self.confirmed(&stanza, &id).await
        })
    }

    fn react<'a>(
        &'a self,
        lane: &'a Lane,
        name: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let marks = match mark {
                Mark::Put(emoji) => format!("<reaction>{}</reaction>", escaped(emoji)),
                Mark::Take(_) => String::new(),
            };
            let id = self.id(&format!("react-{}", now_ms()));
            let stanza = format!(
                "<message to='{}' type='{}' id='{id}'>\
                 <reactions id='{}' xmlns='urn:xmpp:reactions:0'>{marks}</reactions></message>",
                escaped(&lane.chat),
                self.kind_of(lane),
                escaped(name)
            );
            self.confirmed(&stanza, &id).await
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let (to, kind) = (escaped(&lane.chat), self.kind_of(lane));
            let state = "<composing xmlns='http://jabber.org/protocol/chatstates'/>";
            self.say(&format!("<message to='{to}' type='{kind}'>{state}</message>")).await
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async {
            self.connect().await?;
            Ok(self.jid.clone())
        })
    }
}
