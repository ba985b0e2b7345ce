//! `irc`: one server, one channel, and people who write directly.
//!
//! A nick is no identity: somebody is let in by the services account that the server vouches for
//! (`account-tag`), or by a bare nick only where `irc.trust_nicks` says so. Nothing is kept by the
//! server while we are away.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::stream::{self, Protection, Wire};
use petasos_store::ChatKind;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};

use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, SendError, Sender,
    TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "irc",
    about: "IRC: a channel and direct messages",
    toolset: "hermes-irc",
    variables: &["IRC_SERVER", "IRC_CHANNEL", "IRC_NICKNAME"],
    form: Form { dialect: Dialect::Plain, limit: 380, unit: Unit::Bytes },
    rates: Rates { account: Duration::from_secs(2), chat: Duration::ZERO, burst: 5 },
    mention: true,
    prefix: Some('!'),
    hint: "The conversation is on IRC: plain short lines, no Markdown.",
    setup: &[
        "set IRC_SERVER, IRC_CHANNEL and IRC_NICKNAME; IRC_PORT is 6697 with TLS unless IRC_USE_TLS is false",
        "put services accounts into IRC_ALLOWED_USERS; `irc.trust_nicks: true` takes bare nicks instead",
    ],
    tested_with: "a real ngircd",
    target: |text| (PLATFORM.canonical)(text).map(|name| TargetId::chat(&name)),
    canonical: |id| {
        let id = id.trim();
        let fits = !id.is_empty() && !id.contains([' ', ',', ':', '!', '@', '\r', '\n', '\0']);
        fits.then(|| id.to_lowercase())
    },
    open,
    ..PlatformDef::USUAL
};

/// A server that says nothing for so long is asked; for twice as long it is gone.
const SILENCE: Duration = Duration::from_secs(90);
const LOGIN: Duration = Duration::from_secs(30);

struct Irc {
    server: String,
    port: u16,
    tls: bool,
    channel: String,
    nick: String,
    password: Option<Secret>,
    services: Option<Secret>,
    trust_nicks: bool,
    account: String,
    sender: tokio::sync::Mutex<Option<WriteHalf<Box<dyn Wire>>>>,
    /// Our nick as it is now.
    own: Mutex<String>,
    counted: Mutex<HashMap<String, u64>>,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let has = |name: &str| text_of(settings, name);
    let (Some(server), Some(channel), Some(nick)) =
        (has("IRC_SERVER"), has("IRC_CHANNEL"), has("IRC_NICKNAME"))
    else {
        return Ok(Vec::new());
    };
    if !channel.starts_with(['#', '&']) || channel.contains([' ', ',']) {
        return Err(format!("IRC_CHANNEL `{channel}` is no channel: write it as #name"));
    }
    let tls = has("IRC_USE_TLS")
        .is_none_or(|word| !matches!(word.as_str(), "false" | "0" | "no" | "off"));
    let port = match has("IRC_PORT") {
        Some(port) => port.parse().map_err(|_| format!("IRC_PORT `{port}` is no port"))?,
        None if tls => 6697,
        None => 6667,
    };
    let trust = |key: &str| settings.get(key).and_then(Value::as_bool);
    Ok(vec![Arc::new(Irc {
        account: format!("{nick}@{server}"),
        own: Mutex::new(nick.clone()),
        server,
        port,
        tls,
        channel: channel.to_lowercase(),
        nick,
        password: has("IRC_SERVER_PASSWORD").map(Secret::new),
        services: has("IRC_NICKSERV_PASSWORD").map(Secret::new),
        trust_nicks: trust("platforms.irc.trust_nicks").or_else(|| trust("irc.trust_nicks"))
            == Some(true),
        sender: tokio::sync::Mutex::default(),
        counted: Mutex::default(),
    })])
}

/// A line of the server.
#[derive(Debug, Default, PartialEq)]
struct Line {
    tags: HashMap<String, String>,
    from: String,
    command: String,
    words: Vec<String>,
}

fn parsed(text: &str) -> Line {
    let mut line = Line::default();
    let mut rest = text.trim_end_matches(['\r', '\n']);
    if let Some(tagged) = rest.strip_prefix('@') {
        let (tags, after) = tagged.split_once(' ').unwrap_or((tagged, ""));
        for tag in tags.split(';') {
            let (name, value) = tag.split_once('=').unwrap_or((tag, ""));
            line.tags.insert(name.to_owned(), value.to_owned());
        }
        rest = after.trim_start();
    }
    if let Some(prefixed) = rest.strip_prefix(':') {
        let (from, after) = prefixed.split_once(' ').unwrap_or((prefixed, ""));
        from.clone_into(&mut line.from);
        rest = after.trim_start();
    }
    while !rest.is_empty() {
        if let Some(last) = rest.strip_prefix(':') {
            line.words.push(last.to_owned());
            break;
        }
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        line.words.push(word.to_owned());
        rest = after.trim_start();
    }
    if !line.words.is_empty() {
        line.command = line.words.remove(0).to_uppercase();
    }
    line
}

/// Text that cannot begin another command.
fn clean(text: &str) -> String {
    text.replace(['\r', '\n', '\0'], " ")
}

impl Irc {
    async fn say(&self, line: &str) -> std::io::Result<()> {
        let mut sender = self.sender.lock().await;
        let Some(writer) = sender.as_mut() else {
            return Err(std::io::Error::from(std::io::ErrorKind::NotConnected));
        };
        writer.write_all(format!("{}\r\n", clean(line)).as_bytes()).await
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let lost = |error: std::io::Error| LinkError::Lost(error.to_string());
        let protection = if self.tls { Protection::Trusted } else { Protection::Bare };
        let wire = stream::connect(&self.server, self.port, protection).await.map_err(lost)?;
        let (reader, writer) = tokio::io::split(wire);
        *self.sender.lock().await = Some(writer);
        let mut lines = BufReader::new(reader).lines();
        let begun = tokio::time::timeout(LOGIN, self.log_in(&mut lines)).await;
        begun.map_err(|_| LinkError::Lost("the server did not let us in in time".to_owned()))??;
        link.progress();
        let mut asked = false;
        loop {
            let Ok(next) = tokio::time::timeout(SILENCE, lines.next_line()).await else {
                if asked {
                    return Err(LinkError::Lost("the server is silent".to_owned()));
                }
                asked = true;
                self.say("PING :petasos").await.map_err(lost)?;
                continue;
            };
            let Some(text) = next.map_err(lost)? else {
                return Err(LinkError::Lost("the server closed the connection".to_owned()));
            };
            asked = false;
            self.heard(link, &parsed(&text)).await?;
        }
    }

    async fn log_in(
        &self,
        lines: &mut tokio::io::Lines<BufReader<ReadHalf<Box<dyn Wire>>>>,
    ) -> Result<(), LinkError> {
        let lost = |error: std::io::Error| LinkError::Lost(error.to_string());
        if let Some(password) = &self.password {
            self.say(&format!("PASS {}", password.expose())).await.map_err(lost)?;
        }
        self.say("CAP LS 302").await.map_err(lost)?;
        self.say(&format!("NICK {}", self.nick)).await.map_err(lost)?;
        self.say(&format!("USER {} 0 * :petasos", self.nick)).await.map_err(lost)?;
        let mut nick = self.nick.clone();
        while let Some(text) = lines.next_line().await.map_err(lost)? {
            let line = parsed(&text);
            match line.command.as_str() {
                "CAP" if line.words.get(1).is_some_and(|word| word == "LS") => {
                    self.capabilities(&line).await.map_err(lost)?;
                }
                "CAP" if line.words.get(1).is_some_and(|word| word == "ACK") => {
                    self.acknowledged(&line).await.map_err(lost)?;
                }
                "AUTHENTICATE" => self.authenticate().await.map_err(lost)?,
                "CAP" | "903" | "906" | "907" => self.say("CAP END").await.map_err(lost)?,
                "904" | "905" => {
                    return Err(LinkError::Fatal(
                        "the server refuses the password of the account".to_owned(),
                    ));
                }
                "464" => {
                    return Err(LinkError::Fatal("the server refuses the password".to_owned()));
                }
                "433" => {
                    nick.push('_');
                    self.say(&format!("NICK {nick}")).await.map_err(lost)?;
                }
                "PING" => self.pong(&line).await.map_err(lost)?,
                "ERROR" => return Err(LinkError::Lost(line.words.join(" "))),
                "001" => {
                    *self.own.lock() = line.words.first().cloned().unwrap_or(nick.clone());
                    self.say(&format!("JOIN {}", self.channel)).await.map_err(lost)?;
                }
                "366" => return Ok(()),
                "403" | "471" | "473" | "474" | "475" => {
                    return Err(LinkError::Fatal(format!(
                        "{} cannot be joined: {}",
                        self.channel,
                        line.words.join(" ")
                    )));
                }
                _ => {}
            }
        }
        Err(LinkError::Lost("the server closed the connection".to_owned()))
    }

    async fn capabilities(&self, line: &Line) -> std::io::Result<()> {
        let offered = line.words.last().cloned().unwrap_or_default();
        let has = |name: &str| {
            offered.split_whitespace().any(|word| word.split('=').next() == Some(name))
        };
        let mut wanted: Vec<&str> = ["account-tag", "message-tags", "server-time"]
            .into_iter()
            .filter(|name| has(name))
            .collect();
        if self.services.is_some() && has("sasl") {
            wanted.push("sasl");
        }
        if wanted.is_empty() {
            return self.say("CAP END").await;
        }
        self.say(&format!("CAP REQ :{}", wanted.join(" "))).await
    }

    async fn acknowledged(&self, line: &Line) -> std::io::Result<()> {
        let sasl = line
            .words
            .last()
            .is_some_and(|words| words.split_whitespace().any(|word| word == "sasl"));
        self.say(if sasl { "AUTHENTICATE PLAIN" } else { "CAP END" }).await
    }

    async fn authenticate(&self) -> std::io::Result<()> {
        let secret = self.services.as_ref().map(|it| it.expose().to_owned()).unwrap_or_default();
        let plain = format!("\0{}\0{secret}", self.nick);
        let coded = base64::engine::general_purpose::STANDARD.encode(plain);
        self.say(&format!("AUTHENTICATE {coded}")).await
    }

    async fn pong(&self, line: &Line) -> std::io::Result<()> {
        self.say(&format!("PONG :{}", line.words.last().cloned().unwrap_or_default())).await
    }

    async fn heard(&self, link: &Link, heard: &Line) -> Result<(), LinkError> {
        let lost = |error: std::io::Error| LinkError::Lost(error.to_string());
        match heard.command.as_str() {
            "PING" => self.pong(heard).await.map_err(lost),
            "NICK" if heard.from.split('!').next() == Some(self.own.lock().clone().as_str()) => {
                *self.own.lock() = heard.words.first().cloned().unwrap_or_default();
                Ok(())
            }
            "KICK" if heard.words.get(1) == Some(&*self.own.lock()) => {
                Err(LinkError::Lost("kicked from the channel".to_owned()))
            }
            "PRIVMSG" => match self.arrival(heard) {
                Some(arrival) => link.take(arrival).await.map_err(LinkError::from),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn arrival(&self, line: &Line) -> Option<Arrival> {
        let (target, text) = (line.words.first()?, line.words.get(1)?);
        let nick = line.from.split('!').next()?.to_owned();
        let own = self.own.lock().clone();
        if nick.eq_ignore_ascii_case(&own) || text.starts_with('\u{1}') {
            return None;
        }
        let direct = target.eq_ignore_ascii_case(&own);
        let vouched =
            line.tags.get("account").filter(|name| !name.is_empty() && *name != "*").cloned();
        let id = vouched.or_else(|| self.trust_nicks.then(|| nick.clone()));
        let named = text
            .to_lowercase()
            .strip_prefix(&own.to_lowercase())
            .is_some_and(|rest| rest.starts_with([':', ',', ' ']));
        let words = if named {
            text.chars()
                .skip(own.chars().count())
                .collect::<String>()
                .trim_start_matches([':', ',', ' '])
                .to_owned()
        } else {
            text.clone()
        };
        let dedup = line.tags.get("msgid").cloned().unwrap_or_else(|| {
            // Without names for messages every one counts, also the same words twice.
            let mut counted = self.counted.lock();
            let count = counted.entry(nick.clone()).or_default();
            *count += 1;
            format!("{}-{nick}-{count}", now_ms())
        });
        Some(Arrival {
            chat_kind: if direct { ChatKind::Dm } else { ChatKind::Channel },
            chat_name: if direct { String::new() } else { target.clone() },
            sender: Sender { id, name: nick.clone(), ..Sender::default() },
            addressed: direct || named,
            message: String::new(),
            ..Arrival::text(if direct { &nick } else { target }, &nick, &dedup, &words)
        })
    }
}

impl Platform for Irc {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let ended = self.read(link).await;
            *self.sender.lock().await = None;
            ended
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            for line in message.text.lines().filter(|line| !line.trim().is_empty()) {
                let sent =
                    self.say(&format!("PRIVMSG {} :{line}", clean(&message.lane.chat))).await;
                sent.map_err(|error| SendError::Transient(error.to_string()))?;
            }
            Ok(message.token.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_tags_prefix_and_trailing_words() {
        let line = parsed("@account=una;msgid=7 :una!u@h PRIVMSG #c :hello there: you\r\n");
        assert_eq!(line.tags.get("account").map(String::as_str), Some("una"));
        assert_eq!((line.from.as_str(), line.command.as_str()), ("una!u@h", "PRIVMSG"));
        assert_eq!(line.words, ["#c", "hello there: you"]);
        assert_eq!(clean("a\r\nQUIT\0"), "a  QUIT ");
    }
}
