//! `yuanbao`: a bot of Tencent's Yuanbao, over the one socket that the vendor allows it.
//!
//! The vendor publishes no description; the frames are those that the clients of others speak. What
//! is sent goes over the same socket that is read: a second one would end the first.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Settings};
use petasos_store::{ChatKind, Lane};
use petasos_vendors::VendorError;
use petasos_vendors::yuanbao::{Client, Inbound, Part, To, is_set_up};
use tokio::sync::{mpsc, oneshot};

use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, SendError, Sender,
    TargetId,
};
use crate::render::{Dialect, Form, Unit, add};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "yuanbao",
    about: "Tencent's Yuanbao by a bot",
    toolset: "hermes-yuanbao",
    variables: &["YUANBAO_APP_ID", "YUANBAO_APP_SECRET"],
    form: Form { dialect: Dialect::CommonMark, limit: 4000, unit: Unit::Chars },
    rates: Rates {
        account: Duration::from_millis(100),
        chat: Duration::from_millis(500),
        burst: 3,
    },
    media_bytes_max: 20_000_000,
    typing: Some(Duration::from_secs(2)),
    mention: true,
    hint: "The conversation is on Yuanbao: Markdown is shown, files are sent with MEDIA:/path on a line of its own.",
    setup: &[
        "make a bot in Yuanbao and set YUANBAO_APP_ID and YUANBAO_APP_SECRET",
        "put accounts into YUANBAO_ALLOWED_USERS",
    ],
    tested_with: "a double of what other programs do; no reference is public",
    target: |text| To::parse(text).map(|to| TargetId::chat(&to.chat())),
    open,
    ..PlatformDef::USUAL
};

/// The vendor wants a sign of life this often.
const PING: Duration = Duration::from_secs(30);
/// So many messages wait for the socket.
const WAITING: usize = 64;
/// How long the socket may take for one.
const SENDING: Duration = Duration::from_secs(50);

/// Something to say over the socket.
enum Ask {
    Send { to: To, part: Part, reply_to: Option<String>, done: oneshot::Sender<Sent> },
    Writing { to: To },
}

type Sent = Result<String, VendorError>;

struct Yuanbao {
    account: String,
    settings: Arc<Settings>,
    /// The way to the socket, while it is open.
    asks: Mutex<Option<mpsc::Sender<Ask>>>,
}

#[expect(clippy::unnecessary_wraps, reason = "every platform opens alike")]
fn open(opening: &Opening<'_>) -> Opened {
    if !is_set_up(opening.settings) {
        return Ok(Vec::new());
    }
    let account = text_of(opening.settings, "YUANBAO_APP_ID").unwrap_or_default();
    let settings = Arc::clone(opening.settings);
    Ok(vec![Arc::new(Yuanbao { account, settings, asks: Mutex::default() })])
}

fn link_error(error: &VendorError) -> LinkError {
    match error.kind {
        "auth" | "missing_setup" => LinkError::Fatal(error.message.clone()),
        "replaced" => {
            LinkError::Taken { reason: error.message.clone(), after: Duration::from_mins(5) }
        }
        _ => LinkError::Lost(error.message.clone()),
    }
}

fn send_error(error: VendorError) -> SendError {
    match error.kind {
        "auth" | "missing_setup" => SendError::Auth(error.message),
        "not_found" => SendError::Unreachable(error.message),
        // A refusal has a code; everything else may have arrived.
        _ if error.extra.contains_key("code") => SendError::Transient(error.message),
        _ => SendError::Ambiguous(error.message),
    }
}

fn to_of(lane: &Lane) -> Result<To, SendError> {
    To::parse(&lane.chat).ok_or_else(|| SendError::Unreachable("no such chat".to_owned()))
}

/// What ends a wait.
enum Wake {
    Ask(Option<Ask>),
    Came(Box<Result<Inbound, VendorError>>),
    Quiet,
}

impl Yuanbao {
    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let opened = Client::open(&self.settings).await;
        let mut client = opened.map_err(|error| link_error(&error))?;
        let (sender, mut asks) = mpsc::channel(WAITING);
        *self.asks.lock() = Some(sender);
        link.progress();
        let ended = loop {
            let wake = tokio::select! {
                ask = asks.recv() => Wake::Ask(ask),
                came = client.receive() => Wake::Came(Box::new(came)),
                () = tokio::time::sleep(PING) => Wake::Quiet,
            };
            let done = match wake {
                Wake::Ask(None) => Ok(()),
                Wake::Ask(Some(ask)) => said(&mut client, ask).await,
                Wake::Came(came) => match *came {
                    Ok(message) => {
                        link.room().await;
                        if let Err(error) = link.take(arrival(&message)).await {
                            break Err(error.into());
                        }
                        client.confirm(&message).await
                    }
                    Err(error) => Err(error),
                },
                Wake::Quiet => client.ping().await,
            };
            if let Err(error) = done {
                break Err(link_error(&error));
            }
        };
        *self.asks.lock() = None;
        client.close().await;
        ended
    }

    fn way(&self) -> Result<mpsc::Sender<Ask>, SendError> {
        let asks = self.asks.lock().clone();
        asks.ok_or_else(|| SendError::Transient("not connected".to_owned()))
    }
}

/// Says something over the socket. A refusal is for whoever wanted to say it.
async fn said(client: &mut Client, ask: Ask) -> Result<(), VendorError> {
    match ask {
        Ask::Send { to, part, reply_to, done } => {
            let sent = client.send(&to, &part, reply_to.as_deref()).await;
            // Whoever asked may no longer wait.
            drop(done.send(sent));
            Ok(())
        }
        Ask::Writing { to } => match client.writing(&to).await {
            Err(error) if error.extra.contains_key("code") => Ok(()),
            other => other,
        },
    }
}

/// A message in everybody's words.
fn arrival(message: &Inbound) -> Arrival {
    let group = matches!(message.to, To::Group(_));
    let mut text = message.text.clone();
    for name in &message.files {
        add(&mut text, format_args!("\n[a file did not arrive: {name} is not read here]"));
    }
    let sent = i64::try_from(message.sent_s).unwrap_or_default() * 1000;
    Arrival {
        sent_ms: if sent > 0 { sent } else { crate::platform::now_ms() },
        message: message.id.clone(),
        chat_kind: if group { ChatKind::Group } else { ChatKind::Dm },
        chat_name: message.group_name.clone(),
        sender: Sender {
            id: Some(message.from.clone()),
            name: message.nickname.clone(),
            ..Sender::default()
        },
        addressed: !group || message.names_us,
        ..Arrival::text(&message.to.chat(), "", &message.id, text.trim())
    }
}

impl Platform for Yuanbao {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let to = to_of(message.lane)?;
            let part = match message.media {
                Some(file) => {
                    let bytes = crate::media::read(file)?;
                    Part::File { name: file.name.clone(), bytes }
                }
                None => Part::Text(message.text.to_owned()),
            };
            let (done, sent) = oneshot::channel();
            let reply_to = message.reply_to.map(str::to_owned);
            let ask = Ask::Send { to, part, reply_to, done };
            let gone = |_| SendError::Transient("the connection ended".to_owned());
            self.way()?.send(ask).await.map_err(gone)?;
            match tokio::time::timeout(SENDING, sent).await {
                Ok(Ok(sent)) => sent.map_err(send_error),
                // It was on its way when the connection ended, or took too long.
                Ok(Err(_)) | Err(_) => Err(SendError::Ambiguous("no answer".to_owned())),
            }
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let ask = Ask::Writing { to: to_of(lane)? };
            // Where the socket has more important things to say, nothing is lost.
            self.way()?.try_send(ask).map_err(|_| SendError::Transient("busy".to_owned()))
        })
    }
}
