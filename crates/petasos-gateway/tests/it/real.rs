//! Platforms against real servers, where they run: Synapse, ngircd, mosquitto.

use std::sync::Arc;
use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::PLATFORMS;
use petasos_net::{Method, Net, Request, Url};
use petasos_store::{DeliveryClass, DeliveryState, Lane, NewDelivery, OutboxStore as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::world::{Config, World, holds, within};

/// Two gateways on one account would answer each other's people: one test at a time.
pub(crate) static MATRIX: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
pub(crate) static XMPP: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
pub(crate) static MAIL: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub(crate) fn echo() -> Scripted {
    Scripted::default().otherwise(|prompt, _| {
        let last = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        Act::Say(format!("heard: {}", last.unwrap_or_default()))
    })
}

/// What a service said when it was started.
#[expect(clippy::disallowed_methods, reason = "services tell their addresses by variables")]
pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// The same, or a printed reason to skip.
pub(crate) fn told(test: &str, component: &str, name: &str) -> Option<String> {
    let value = Some(variable(name)).filter(|value| !value.is_empty());
    if value.is_none() {
        petasos_testkit::skip(test, component, &format!("{name} is not set"));
    }
    value
}

pub(crate) fn config(
    platform: &str,
    variables: Vec<(&'static str, String)>,
    values: &'static str,
) -> Config {
    let platforms = PLATFORMS.iter().copied().filter(|def| def.name == platform).collect();
    Config { values, variables, platforms, ..Config::default() }
}

pub(crate) async fn connected(world: &World, platform: &str) {
    let wait = async {
        loop {
            let status = world.gateway.status().await.unwrap();
            let account = status.accounts.iter().find(|it| it.platform == platform).unwrap();
            if account.state == petasos_gateway::AccountState::Connected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_mins(1), wait).await;
    assert!(waited.is_ok(), "{:?}", world.gateway.status().await.unwrap().accounts);
}

/// A person on a Matrix server.
pub(crate) struct Person {
    pub(crate) net: Arc<Net>,
    pub(crate) server: String,
    pub(crate) token: String,
}

impl Person {
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let url = Url::parse(&format!("{}/_matrix/client/v3/{path}", self.server)).unwrap();
        let mut request = Request::new(method, url)
            .header("authorization", &format!("Bearer {}", self.token))
            .unwrap();
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let reply = self.net.send(request).await.unwrap();
        let bytes = reply.bytes(10_000_000, Duration::from_secs(30)).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    pub(crate) async fn say(&self, room: &str, token: &str, body: Value) -> String {
        let room = room.replace('!', "%21").replace(':', "%3A");
        let answer = self
            .call(Method::PUT, &format!("rooms/{room}/send/m.room.message/{token}"), Some(body))
            .await;
        answer["event_id"].as_str().unwrap_or_else(|| unreachable!("{answer}")).to_owned()
    }

    /// Waits for a message of the bot that contains this.
    pub(crate) async fn hear(&self, room: &str, part: &str) -> Value {
        let encoded = room.replace('!', "%21").replace(':', "%3A");
        let wait = async {
            loop {
                let found = self
                    .call(Method::GET, &format!("rooms/{encoded}/messages?dir=b&limit=30"), None)
                    .await;
                let chunk = found["chunk"].as_array().cloned().unwrap_or_default();
                let hit = chunk.iter().find(|event| {
                    event["sender"] == "@bot:localhost"
                        && event["content"]["body"].as_str().is_some_and(|body| body.contains(part))
                });
                if let Some(hit) = hit {
                    return hit.clone();
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let heard = tokio::time::timeout(Duration::from_mins(1), wait).await;
        heard.unwrap_or_else(|_| unreachable!("not heard: {part}"))
    }
}

/// A fresh login of the bot. Synapse answers the first look of a device from its memory for two
/// minutes, so that a new home on an old device would be given what earlier tests said.
pub(crate) async fn bot_login(person: &Person) -> String {
    let user = json!({ "type": "m.id.user", "user": "bot" });
    let password = variable("MATRIX_BOT_PASSWORD");
    let login = json!({ "type": "m.login.password", "identifier": user, "password": password });
    let answer = person.call(Method::POST, "login", Some(login)).await;
    answer["access_token"].as_str().unwrap_or_else(|| unreachable!("{answer}")).to_owned()
}

#[tokio::test]
async fn s88_matrix_on_a_real_synapse() {
    const NAME: &str = "s88_matrix_on_a_real_synapse";
    let Some(server) = told(NAME, "synapse", "MATRIX_HOMESERVER") else { return };
    let _alone = MATRIX.lock().await;
    let get = variable;
    let person = Person {
        net: Arc::new(Net::default()),
        server: server.clone(),
        token: get("MATRIX_PERSON_TOKEN"),
    };
    let fresh =
        json!({ "name": "petasos", "preset": "private_chat", "invite": ["@bot:localhost"] });
    let token = bot_login(&person).await;
    let variables = || {
        vec![
            ("MATRIX_HOMESERVER", server.clone()),
            ("MATRIX_ACCESS_TOKEN", token.clone()),
            ("MATRIX_USER_ID", "@bot:localhost".to_owned()),
            ("MATRIX_ALLOWED_USERS", "@person:localhost".to_owned()),
        ]
    };
    let todo =
        Act::call("todo", r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#);
    let model = Scripted::new([Act::say("**first** answer"), todo, Act::say("listed")])
        .otherwise(|_, _| Act::say("more"));
    let world = World::with(
        model,
        config("matrix", variables(), r#"{"matrix": {"require_mention": false}}"#),
    )
    .await;
    connected(&world, "matrix").await;
    // An invitation from somebody who may write is taken.
    let room = person.call(Method::POST, "createRoom", Some(fresh)).await["room_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let encoded = room.replace('!', "%21").replace(':', "%3A");
    holds("the bot in the room", async || {
        let path = format!("rooms/{encoded}/joined_members");
        let members = person.call(Method::GET, &path, None).await;
        members["joined"].get("@bot:localhost").is_some()
    })
    .await;
    let asked = person.say(&room, "t1", json!({ "msgtype": "m.text", "body": "hello" })).await;
    let heard = person.hear(&room, "first answer").await;
    assert_eq!(
        heard["content"]["formatted_body"], "<p><strong>first</strong> answer</p>",
        "{heard}"
    );
    assert_eq!(heard["content"]["m.relates_to"]["m.in_reply_to"]["event_id"], asked.as_str());
    // The same transaction again is the same event, and one turn.
    person.say(&room, "t1", json!({ "msgtype": "m.text", "body": "hello" })).await;
    // A reaction answers a card.
    person.say(&room, "t2", json!({ "msgtype": "m.text", "body": "make a list" })).await;
    let card = person.hear(&room, "needs your consent").await;
    let mark = json!({ "m.relates_to": { "rel_type": "m.annotation", "event_id": card["event_id"], "key": "✅" } });
    person.call(Method::PUT, &format!("rooms/{encoded}/send/m.reaction/r1"), Some(mark)).await;
    person.hear(&room, "listed").await;
    // A thread is a conversation of its own.
    let thread = json!({ "msgtype": "m.text", "body": "in a thread", "m.relates_to": { "rel_type": "m.thread", "event_id": asked } });
    person.say(&room, "t3", thread).await;
    let heard = person.hear(&room, "more").await;
    assert_eq!(heard["content"]["m.relates_to"]["event_id"], asked.as_str(), "{heard}");
    let status = world.gateway.status().await.unwrap();
    assert_eq!(status.counts["accepted"], 3, "{status:?}");
}

/// Somebody on IRC.
pub(crate) async fn irc_person(
    address: &str,
    nick: &str,
) -> (BufReader<tokio::net::tcp::OwnedReadHalf>, tokio::net::tcp::OwnedWriteHalf) {
    let (reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
    writer
        .write_all(
            format!("NICK {nick}\r\nUSER {nick} 0 * :{nick}\r\nJOIN #petasos\r\n").as_bytes(),
        )
        .await
        .unwrap();
    let mut reader = BufReader::new(reader);
    irc_until(&mut reader, &mut writer, " 366 ").await;
    (reader, writer)
}

pub(crate) async fn irc_until(
    reader: &mut BufReader<tokio::net::tcp::OwnedReadHalf>,
    writer: &mut tokio::net::tcp::OwnedWriteHalf,
    part: &str,
) -> String {
    let wait = async {
        loop {
            let mut line = String::new();
            assert_ne!(reader.read_line(&mut line).await.unwrap(), 0, "closed before {part}");
            if line.contains(part) {
                return line;
            }
            if let Some(word) = line.strip_prefix("PING ") {
                writer.write_all(format!("PONG {word}").as_bytes()).await.unwrap();
            }
        }
    };
    let heard = tokio::time::timeout(Duration::from_mins(1), wait).await;
    heard.unwrap_or_else(|_| unreachable!("not heard: {part}"))
}

#[tokio::test]
async fn s92_irc_on_a_real_ngircd() {
    const NAME: &str = "s92_irc_on_a_real_ngircd";
    let Some(address) = told(NAME, "ngircd", "IRC_ADDRESS") else { return };
    let (host, port) = address.rsplit_once(':').unwrap();
    let variables = vec![
        ("IRC_SERVER", host.to_owned()),
        ("IRC_PORT", port.to_owned()),
        ("IRC_USE_TLS", "false".to_owned()),
        ("IRC_CHANNEL", "#petasos".to_owned()),
        ("IRC_NICKNAME", "petabot".to_owned()),
        ("IRC_ALLOWED_USERS", "una".to_owned()),
    ];
    let long: Vec<String> = (0..200).map(|n| format!("wörd{n}")).collect();
    let long = long.join(" ");
    let reply = long.clone();
    let model =
        Scripted::new([Act::say("short answer")]).otherwise(move |_, _| Act::Say(reply.clone()));
    let world =
        World::with(model, config("irc", variables, r#"{"irc": {"trust_nicks": true}}"#)).await;
    connected(&world, "irc").await;
    let (mut reader, mut writer) = irc_person(&address, "una").await;
    let (_eve, mut eve) = irc_person(&address, "eve").await;
    eve.write_all(b"PRIVMSG #petasos :petabot: I am a stranger\r\n").await.unwrap();
    writer
        .write_all(b"PRIVMSG #petasos :nobody is meant\r\nPRIVMSG #petasos :petabot: hello\r\n")
        .await
        .unwrap();
    irc_until(&mut reader, &mut writer, "PRIVMSG #petasos :short answer").await;
    writer.write_all(b"PRIVMSG petabot :tell me much\r\n").await.unwrap();
    let first = irc_until(&mut reader, &mut writer, "PRIVMSG una :").await;
    assert!(first.len() <= 512, "{}", first.len());
    let mut heard = first;
    while !heard.contains("wörd199") {
        let line = irc_until(&mut reader, &mut writer, "PRIVMSG una :").await;
        assert!(line.len() <= 512, "{}", line.len());
        heard.push_str(&line);
    }
    let status = world.gateway.status().await.unwrap();
    assert_eq!((status.counts["accepted"], status.counts["strangers"]), (2, 1), "{status:?}");
}

#[tokio::test]
async fn s94_mqtt_on_a_real_mosquitto() {
    const NAME: &str = "s94_mqtt_on_a_real_mosquitto";
    let Some(address) = told(NAME, "mosquitto", "MQTT_ADDRESS") else { return };
    let variables = |topic: &str| {
        vec![
            ("MQTT_URL", format!("mqtt://{address}")),
            ("MQTT_TOPIC", topic.to_owned()),
            ("MQTT_ALLOWED_USERS", "lamp".to_owned()),
        ]
    };
    let topic = format!("test{}", std::process::id());
    let mut other =
        Publisher::connect(&address, &format!("person-{topic}"), &format!("{topic}/out/lamp"))
            .await;
    other.publish(&format!("{topic}/in/lamp"), r#"{"id": "old", "text": "retained"}"#, true).await;
    let folder = tempfile::tempdir().unwrap();
    let world =
        World::at(folder.path(), Arc::default(), echo(), config("mqtt", variables(&topic), "{}"))
            .await;
    connected(&world, "mqtt").await;
    let inbox = format!("{topic}/in/lamp");
    for _ in 0..2 {
        other.publish(&inbox, r#"{"id": "1", "text": "hello"}"#, false).await;
    }
    let heard = other.hear().await;
    assert_eq!(heard["text"], "heard: hello", "{heard}");
    // Stopped as a person would, so that nothing of this gateway takes what comes next.
    world.gateway.drain().await;
    drop(world);
    // The broker keeps what comes while we are away.
    other.publish(&inbox, r#"{"id": "2", "text": "while away"}"#, false).await;
    let world =
        World::at(folder.path(), Arc::default(), echo(), config("mqtt", variables(&topic), "{}"))
            .await;
    let heard = other.hear().await;
    assert_eq!(
        heard["text"], "heard: while away",
        "neither the repeat nor the retained one: {heard}"
    );
    let status = world.gateway.status().await.unwrap();
    assert_eq!(status.inbox.values().sum::<u64>(), 2, "{status:?}");
}

/// A client that publishes and listens; the packets by hand, MQTT 3.1.1.
pub(crate) struct Publisher {
    stream: TcpStream,
    heard: std::collections::VecDeque<Value>,
}

impl Publisher {
    pub(crate) async fn connect(address: &str, name: &str, listen: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let text = |text: &str| {
            let mut out = u16::try_from(text.len()).unwrap().to_be_bytes().to_vec();
            out.extend_from_slice(text.as_bytes());
            out
        };
        let body = [text("MQTT"), vec![4, 2, 0, 0], text(name)].concat();
        stream
            .write_all(&[vec![0x10, u8::try_from(body.len()).unwrap()], body].concat())
            .await
            .unwrap();
        let mut publisher = Self { stream, heard: std::collections::VecDeque::new() };
        publisher.packet().await;
        let body = [vec![0, 1], text(listen), vec![0]].concat();
        publisher
            .stream
            .write_all(&[vec![0x82, u8::try_from(body.len()).unwrap()], body].concat())
            .await
            .unwrap();
        publisher.packet().await;
        publisher
    }

    async fn packet(&mut self) -> (u8, Vec<u8>) {
        within("a packet of the broker", self.read()).await
    }

    async fn read(&mut self) -> (u8, Vec<u8>) {
        use tokio::io::AsyncReadExt as _;
        let kind = self.stream.read_u8().await.unwrap();
        let (mut length, mut shift) = (0_usize, 0);
        loop {
            let byte = self.stream.read_u8().await.unwrap();
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        (kind, body)
    }

    pub(crate) async fn publish(&mut self, topic: &str, payload: &str, retain: bool) {
        let mut body = u16::try_from(topic.len()).unwrap().to_be_bytes().to_vec();
        body.extend_from_slice(topic.as_bytes());
        body.extend_from_slice(&[0, 9]);
        body.extend_from_slice(payload.as_bytes());
        let kind = 0x32 | u8::from(retain);
        self.stream
            .write_all(&[vec![kind, u8::try_from(body.len()).unwrap()], body].concat())
            .await
            .unwrap();
        // Quality 1: the broker has it. What arrives meanwhile is kept.
        loop {
            let (kind, body) = self.packet().await;
            match kind & 0xf0 {
                0x40 => return,
                0x30 => self.heard.push_back(published(&body)),
                _ => {}
            }
        }
    }

    pub(crate) async fn hear(&mut self) -> Value {
        if let Some(heard) = self.heard.pop_front() {
            return heard;
        }
        let wait = async {
            loop {
                let (kind, body) = self.packet().await;
                if kind & 0xf0 == 0x30 {
                    return published(&body);
                }
            }
        };
        tokio::time::timeout(Duration::from_mins(1), wait).await.unwrap()
    }
}

fn published(body: &[u8]) -> Value {
    let length = usize::from(u16::from_be_bytes([body[0], body[1]]));
    serde_json::from_slice(&body[2 + length..]).unwrap()
}

/// A person with a mailbox; the letter goes out by SMTP with STARTTLS and is read back by IMAP.
pub(crate) struct Correspondent {
    pub(crate) host: String,
    pub(crate) smtp: u16,
    pub(crate) imaps: u16,
    pub(crate) cert: String,
}

impl Correspondent {
    pub(crate) async fn write(&self, from: &str, headers: &str, text: &str) {
        use base64::Engine as _;
        let stream =
            petasos_net::stream::connect(&self.host, self.smtp, petasos_net::Protection::Bare)
                .await
                .unwrap();
        let mut wire = BufReader::new(stream);
        let pinned = petasos_net::Protection::Pinned(std::path::Path::new(&self.cert));
        smtp(&mut wire, None).await;
        smtp(&mut wire, Some("EHLO test")).await;
        smtp(&mut wire, Some("STARTTLS")).await;
        let stream =
            petasos_net::stream::encrypt(wire.into_inner(), &self.host, pinned).await.unwrap();
        let mut wire = BufReader::new(stream);
        smtp(&mut wire, Some("EHLO test")).await;
        let user = from.split('@').next().unwrap();
        let login =
            base64::engine::general_purpose::STANDARD.encode(format!("\0{from}\0{user}-password"));
        for line in [
            format!("AUTH PLAIN {login}"),
            format!("MAIL FROM:<{from}>"),
            "RCPT TO:<bot@petasos.test>".to_owned(),
            "DATA".to_owned(),
        ] {
            smtp(&mut wire, Some(&line)).await;
        }
        let letter =
            format!("From: <{from}>\r\nTo: <bot@petasos.test>\r\n{headers}\r\n{text}\r\n.");
        smtp(&mut wire, Some(&letter)).await;
    }

    /// Waits for a letter in a person's mailbox that contains this.
    pub(crate) async fn hear(&self, user: &str, part: &str) -> String {
        let pinned = petasos_net::Protection::Pinned(std::path::Path::new(&self.cert));
        let stream = petasos_net::stream::connect(&self.host, self.imaps, pinned).await.unwrap();
        let mut wire = BufReader::new(stream);
        let wait = async {
            imap(&mut wire, "a", &format!("LOGIN {user}@petasos.test {user}-password")).await;
            loop {
                imap(&mut wire, "b", "SELECT INBOX").await;
                let all = imap(&mut wire, "c", "FETCH 1:* (BODY.PEEK[])").await;
                if let Some(found) = all.split(" FETCH (").find(|letter| letter.contains(part)) {
                    return found.to_owned();
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        let heard = tokio::time::timeout(Duration::from_mins(1), wait).await;
        heard.unwrap_or_else(|_| unreachable!("not heard: {part}"))
    }
}

async fn smtp(wire: &mut BufReader<Box<dyn petasos_net::Wire>>, line: Option<&str>) {
    if let Some(line) = line {
        wire.get_mut().write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        wire.get_mut().flush().await.unwrap();
    }
    loop {
        let mut answer = String::new();
        within("an answer of the mail server", wire.read_line(&mut answer)).await.unwrap();
        assert!(answer.starts_with(['2', '3']), "{line:?}: {answer}");
        if answer.chars().nth(3) == Some(' ') {
            return;
        }
    }
}

async fn imap(wire: &mut BufReader<Box<dyn petasos_net::Wire>>, tag: &str, line: &str) -> String {
    wire.get_mut().write_all(format!("{tag} {line}\r\n").as_bytes()).await.unwrap();
    wire.get_mut().flush().await.unwrap();
    let mut all = String::new();
    loop {
        let mut answer = Vec::new();
        let read = within("an answer of the mailbox", wire.read_until(b'\n', &mut answer)).await;
        assert_ne!(read.unwrap(), 0, "closed after {line}");
        let text = String::from_utf8_lossy(&answer).into_owned();
        if text.starts_with(&format!("{tag} ")) {
            return all;
        }
        all.push_str(&text);
    }
}

/// A reply goes on in the thread; a vacation notice and a stranger get nothing.
async fn goes_on(person: &Correspondent, run: &str) {
    let second = format!(
        "Message-ID: <second-{run}@x>\r\nSubject: Re: x\r\nReferences: <first-{run}@x> <y@z>\r\n"
    );
    person.write("person@petasos.test", &second, "more").await;
    person
        .write(
            "person@petasos.test",
            &format!("Message-ID: <v-{run}@x>\r\nAuto-Submitted: auto-replied\r\n"),
            "I am away",
        )
        .await;
    person
        .write(
            "stranger@petasos.test",
            &format!("Message-ID: <s-{run}@x>\r\nSubject: x\r\n"),
            "let me in",
        )
        .await;
    let answer = person.hear("person", &format!("In-Reply-To: <second-{run}@x>")).await;
    assert!(answer.contains(&format!("References: <first-{run}@x> <second-{run}@x>")), "{answer}");
}

#[tokio::test]
async fn s90_s91_mail_on_real_postfix_and_dovecot() {
    const NAME: &str = "s90_s91_mail_on_real_postfix_and_dovecot";
    let Some(host) = told(NAME, "mail", "MAIL_HOST") else { return };
    let _alone = MAIL.lock().await;
    let get = variable;
    let cert = get("MAIL_CA_FILE");
    let values: &'static str = Box::leak(
        json!({ "platforms": { "email": { "ca_cert": cert } } }).to_string().into_boxed_str(),
    );
    let variables = |trust: &str| {
        vec![
            ("EMAIL_ADDRESS", "bot@petasos.test".to_owned()),
            ("EMAIL_PASSWORD", "bot-password".to_owned()),
            ("EMAIL_IMAP_HOST", host.clone()),
            ("EMAIL_IMAP_PORT", get("MAIL_IMAPS_PORT")),
            ("EMAIL_SMTP_HOST", host.clone()),
            ("EMAIL_SMTP_PORT", get("MAIL_SMTP_PORT")),
            ("EMAIL_ALLOWED_USERS", "person@petasos.test".to_owned()),
            ("EMAIL_TRUST_FROM_HEADER", trust.to_owned()),
            ("EMAIL_AUTHSERV_ID", "mx.petasos.test".to_owned()),
        ]
    };
    let person = Correspondent {
        host: host.clone(),
        smtp: get("MAIL_SMTP_PORT").parse().unwrap(),
        imaps: get("MAIL_IMAPS_PORT").parse().unwrap(),
        cert,
    };
    let run = format!(
        "{}-{}",
        std::process::id(),
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
    );
    let folder = tempfile::tempdir().unwrap();
    let world =
        World::at(folder.path(), Arc::default(), echo(), config("email", variables("1"), values))
            .await;
    connected(&world, "email").await;
    let first = format!(
        "Message-ID: <first-{run}@x>\r\nSubject: =?utf-8?B?R3LDvMOfZQ==?=\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n"
    );
    person.write("person@petasos.test", &first, &format!("héllo {run}")).await;
    let answer = person.hear("person", &format!("In-Reply-To: <first-{run}@x>")).await;
    assert!(
        answer.contains("Auto-Submitted: auto-replied")
            && answer.contains("Subject: Re: =?utf-8?B?R3LDvMOfZQ==?="),
        "{answer}"
    );
    goes_on(&person, &run).await;
    let status = world.gateway.status().await.unwrap();
    assert_eq!(status.counts["accepted"], 2, "{status:?}");
    drop(world);
    // What came while we were away is read; without proof nobody is let in.
    person
        .write(
            "person@petasos.test",
            &format!("Message-ID: <third-{run}@x>\r\nSubject: x\r\n"),
            "who am I?",
        )
        .await;
    let world =
        World::at(folder.path(), Arc::default(), echo(), config("email", variables("0"), values))
            .await;
    holds("a letter of somebody unproved", async || {
        let status = world.gateway.status().await.unwrap();
        assert_eq!(status.counts["accepted"], 0, "{status:?}");
        status.counts["strangers"] == 1
    })
    .await;
}

#[tokio::test]
async fn s95_home_assistant_begins_a_turn_for_what_is_watched_and_is_notified() {
    let Some(url) = told("s95", "homeassistant", "HASS_URL") else { return };
    let token = variable("HASS_TOKEN");
    let variables = vec![("HASS_URL", url.clone()), ("HASS_TOKEN", token.clone())];
    let values =
        r#"{ "platforms": { "homeassistant": { "watch_entities": ["input_text.note"] } } }"#;
    let world = World::with(echo(), config("homeassistant", variables, values)).await;
    connected(&world, "homeassistant").await;
    let net = Arc::new(Net::default());
    let post = async |path: &str, body: Value| {
        let request = Request::new(Method::POST, Url::parse(&format!("{url}/api/{path}")).unwrap());
        let request = request.header("authorization", &format!("Bearer {token}")).unwrap();
        let request = request.header("content-type", "application/json").unwrap();
        let reply = net.send(request.body(body.to_string())).await.unwrap();
        assert_eq!(reply.status, 200, "{path}");
    };
    // What is not watched begins nothing, and what changes again at once begins nothing more.
    post("services/input_boolean/toggle", json!({ "entity_id": "input_boolean.heater" })).await;
    for at in 0..2 {
        let value = format!("note {at} {}", std::process::id());
        let body = json!({ "entity_id": "input_text.note", "value": value });
        post("services/input_text/set_value", body).await;
    }
    let delivered = async {
        loop {
            let sent = world.store.deliveries(&[DeliveryState::Sent], 10).await.unwrap();
            if let Some(row) = sent.first() {
                return row.delivery.clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_mins(1), delivered).await.unwrap();
    assert!(answer.body.contains("heard: Note") && answer.body.contains("note 0"), "{answer:?}");
    let status = world.gateway.status().await.unwrap();
    assert_eq!(status.counts["accepted"], 1, "one event, one turn");
}

/// Sends from a gateway's own account, as its person would.
pub(crate) async fn sends(world: &World, to: &str, token: &str, text: &str) {
    let lane = Lane {
        platform: "xmpp".to_owned(),
        account: "una@localhost".to_owned(),
        chat: to.to_owned(),
        thread: None,
    };
    let delivery = NewDelivery {
        lane,
        class: DeliveryClass::Final,
        token: format!("{token}-{}", std::process::id()),
        body: text.to_owned(),
        media: Vec::new(),
        buttons: Vec::new(),
        reply_to: None,
        inbox: None,
    };
    world.store.plan(vec![delivery]).await.unwrap();
}

/// Waits until somebody was told this.
pub(crate) async fn told_to(world: &World, text: &str) {
    let wait = async {
        loop {
            let asked = world.model.asked();
            let said = asked.iter().flat_map(|asked| &asked.prompt.messages).any(|message| {
                matches!(message, Message::User { content } if content.text().contains(text))
            });
            if said {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_mins(1), wait).await;
    assert!(
        waited.is_ok(),
        "not heard: {text}: {:?}",
        world.gateway.status().await.unwrap().accounts
    );
}

#[tokio::test]
async fn s93_xmpp_on_a_real_prosody() {
    let Some(address) = told("s93", "prosody", "XMPP_ADDRESS") else { return };
    let _alone = XMPP.lock().await;
    let account = |jid: &str, password: String, peer: &str| {
        config(
            "xmpp",
            vec![
                ("XMPP_JID", jid.to_owned()),
                ("XMPP_PASSWORD", password),
                ("XMPP_HOST", address.clone()),
                ("XMPP_ROOMS", "test@rooms.localhost".to_owned()),
                ("XMPP_ALLOWED_USERS", peer.to_owned()),
            ],
            r#"{ "platforms": { "xmpp": { "extra": { "require_mention": true } } } }"#,
        )
    };
    let bot = || account("bot@localhost", variable("XMPP_BOT_PASSWORD"), "una@localhost");
    let home = tempfile::tempdir().unwrap();
    let world = World::at(home.path(), Arc::default(), echo(), bot()).await;
    // Una is a gateway of her own that answers nothing.
    let silent = || Scripted::default().otherwise(|_, _| Act::say("NO_REPLY"));
    let una = account("una@localhost", variable("XMPP_UNA_PASSWORD"), "bot@localhost");
    let una = World::with(silent(), una).await;
    connected(&world, "xmpp").await;
    connected(&una, "xmpp").await;
    let mark = format!("{}", std::process::id());
    sends(&una, "bot@localhost", "x1", &format!("hello <b> & {mark}")).await;
    told_to(&una, &format!("heard: hello <b> & {mark}")).await;
    sends(&una, "test@rooms.localhost", "x2", &format!("bot: in the room {mark}")).await;
    let status = async || world.gateway.status().await.unwrap();
    let in_room = async {
        while status().await.counts["accepted"] < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let heard = tokio::time::timeout(Duration::from_mins(1), in_room).await;
    assert!(heard.is_ok(), "the room is silent");
    // What came while it was away is read from the archive.
    drop(world);
    sends(&una, "bot@localhost", "x3", &format!("while you were away {mark}")).await;
    let world = World::at(home.path(), Arc::default(), echo(), bot()).await;
    told_to(&una, &format!("heard: while you were away {mark}")).await;
    assert_eq!(world.gateway.status().await.unwrap().counts["accepted"], 1, "only what is new");
    // A wrong password is no reason to try for ever.
    let wrong = account("bot@localhost", "wrong".to_owned(), "una@localhost");
    let wrong = World::with(silent(), wrong).await;
    let fatal = async {
        loop {
            let accounts = wrong.gateway.status().await.unwrap().accounts;
            let xmpp = accounts.iter().find(|it| it.platform == "xmpp").unwrap();
            if matches!(xmpp.state, petasos_gateway::AccountState::Fatal(_)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_mins(1), fatal).await;
    assert!(ended.is_ok(), "it goes on trying");
}
