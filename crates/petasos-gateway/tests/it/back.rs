//! Real servers that go away and come back, and what else only a real one shows: files, edits,
//! rooms that cannot be read or that follow others, consent by words.
//!
//! ngircd and mosquitto are really stopped and started, each a server of the test's own. Before the
//! others, which every test shares, stands a gate that cuts and refuses connections as a server does
//! while it starts anew.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_contract::wait::Owned;
use petasos_gateway::AccountState;
use petasos_net::{Method, Net, Request, Url};
use petasos_store::{DeliveryState, OutboxStore as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::double::free_port;
use crate::real::{
    Correspondent, MAIL, MATRIX, Person, Publisher, XMPP, bot_login, config, connected, irc_person,
    irc_until, sends, told, told_to, variable,
};
use crate::world::{World, holds};

/// What stands before a server.
struct Gate {
    port: u16,
    open: Arc<AtomicBool>,
    cut: Arc<Notify>,
    _task: Owned<()>,
}

impl Gate {
    async fn before(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = server.to_owned();
        let (open, cut) = (Arc::new(AtomicBool::new(true)), Arc::new(Notify::new()));
        let (is_open, cuts) = (Arc::clone(&open), Arc::clone(&cut));
        let task = Owned::start(async move {
            let mut passed = Vec::new();
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                if !is_open.load(Ordering::Relaxed) {
                    continue;
                }
                let (cuts, server) = (Arc::clone(&cuts), server.clone());
                passed.push(Owned::start(async move {
                    let Ok(mut far) = TcpStream::connect(&server).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        () = cuts.notified() => {}
                    }
                }));
            }
        });
        Self { port, open, cut, _task: task }
    }

    /// The server goes away; gives when the gateway has noticed.
    async fn close(&self, world: &World, platform: &str) {
        self.open.store(false, Ordering::Relaxed);
        self.cut.notify_waiters();
        retries(world, platform).await;
    }

    fn open(&self) {
        self.open.store(true, Ordering::Relaxed);
    }
}

fn state(world: &World, platform: &str) -> AccountState {
    let accounts = world.gateway.accounts();
    accounts.iter().find(|it| it.def.name == platform).unwrap().state().0
}

async fn retries(world: &World, platform: &str) {
    holds("the loss of the connection", async || {
        matches!(state(world, platform), AccountState::Retrying(_))
    })
    .await;
}

/// A server of the test's own, which ends with it.
pub(crate) struct Own(Child);

impl Own {
    #[expect(clippy::disallowed_methods, reason = "a test starts servers of its own")]
    pub(crate) async fn start(words: &[&str], port: u16) -> Self {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let own = Self(command.spawn().unwrap());
        holds("a server of our own", async || {
            TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await;
        own
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

pub(crate) fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
}

/// Asks before it writes a list, sends a file when it is asked to, and otherwise repeats.
pub(crate) fn helper(file: &Path) -> Scripted {
    let directive = format!("here it is\nMEDIA:{}", file.display());
    Scripted::default().otherwise(move |prompt, _| {
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        let said = said.unwrap_or_default();
        match prompt.messages.last() {
            Some(Message::Tool(_)) => Act::say("The list is written, **all** of it."),
            _ if said.contains("make a list") => Act::calls(
                "I shall write a list now, one moment please.",
                &[("todo", r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#)],
            ),
            _ if said.contains("send the file") => Act::Say(directive.clone()),
            _ => Act::Say(format!("heard: {said}")),
        }
    })
}

/// A room with the bot in it.
async fn room(person: &Person, more: Value) -> String {
    let mut fresh =
        json!({ "name": "petasos", "preset": "private_chat", "invite": ["@bot:localhost"] });
    for (key, value) in more.as_object().unwrap() {
        fresh[key] = value.clone();
    }
    let made = person.call(Method::POST, "createRoom", Some(fresh)).await;
    let room = made["room_id"].as_str().unwrap_or_else(|| unreachable!("{made}")).to_owned();
    joined(person, &room).await;
    room
}

fn encoded(room: &str) -> String {
    room.replace('!', "%21").replace(':', "%3A")
}

async fn joined(person: &Person, room: &str) {
    let path = format!("rooms/{}/joined_members", encoded(room));
    holds("the bot in the room", async || {
        let members = person.call(Method::GET, &path, None).await;
        members["joined"].get("@bot:localhost").is_some()
    })
    .await;
}

/// Gives a file to the server, or fetches one.
async fn media(person: &Person, method: Method, path: &str, body: &[u8]) -> Vec<u8> {
    let url = Url::parse(&format!("{}/_matrix/{path}", person.server)).unwrap();
    let request = Request::new(method, url);
    let request = request.header("authorization", &format!("Bearer {}", person.token)).unwrap();
    let request = request.header("content-type", "text/plain").unwrap().body(body.to_vec());
    let reply = person.net.send(request).await.unwrap();
    reply.bytes(1_000_000, Duration::from_secs(30)).await.unwrap().to_vec()
}

/// What the bot said in a room, newest first.
async fn said(person: &Person, room: &str) -> Vec<Value> {
    let path = format!("rooms/{}/messages?dir=b&limit=50", encoded(room));
    let found = person.call(Method::GET, &path, None).await;
    let chunk = found["chunk"].as_array().cloned().unwrap_or_default();
    chunk.into_iter().filter(|event| event["sender"] == "@bot:localhost").collect()
}

fn text(body: &str) -> Value {
    json!({ "msgtype": "m.text", "body": body })
}

#[tokio::test]
async fn s15_s17_s63_s88_matrix_files_edits_commands_and_a_server_that_comes_back() {
    let Some(server) = told("s88", "synapse", "MATRIX_HOMESERVER") else { return };
    let _alone = MATRIX.lock().await;
    let gate = Gate::before(server.trim_start_matches("http://")).await;
    let token = variable("MATRIX_PERSON_TOKEN");
    let person = Person { net: Arc::new(Net::default()), server, token };
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("cache/documents/out.txt");
    put(&file, "words outside");
    let variables = vec![
        ("MATRIX_HOMESERVER", format!("http://127.0.0.1:{}", gate.port)),
        ("MATRIX_ACCESS_TOKEN", bot_login(&person).await),
        ("MATRIX_USER_ID", "@bot:localhost".to_owned()),
        ("MATRIX_ALLOWED_USERS", "@person:localhost".to_owned()),
    ];
    let values = r#"{ "matrix": { "require_mention": false }, "streaming": { "enabled": true } }"#;
    let world =
        World::at(home.path(), Arc::default(), helper(&file), config("matrix", variables, values))
            .await;
    connected(&world, "matrix").await;
    let room = room(&person, json!({})).await;
    // Words that were shown are edited into the answer, after consent by words.
    person.say(&room, "b1", text("make a list")).await;
    person.hear(&room, "one moment").await;
    person.hear(&room, "needs your consent").await;
    person.say(&room, "b2", text("yes 1")).await;
    holds("the edit", async || {
        said(&person, &room).await.iter().any(|event| {
            event["content"]["m.relates_to"]["rel_type"] == "m.replace"
                && event["content"]["m.new_content"]["body"]
                    .as_str()
                    .is_some_and(|body| body.contains("is written"))
        })
    })
    .await;
    // A file in, a file out.
    let given = media(&person, Method::POST, "media/v3/upload?filename=in.txt", b"words inside");
    let given: Value = serde_json::from_slice(&given.await).unwrap();
    let sent = json!({
        "msgtype": "m.file", "body": "in.txt", "url": given["content_uri"],
        "info": { "mimetype": "text/plain" },
    });
    person.say(&room, "b3", sent).await;
    person.hear(&room, "words inside").await;
    person.say(&room, "b4", text("send the file")).await;
    let out = person.hear(&room, "out.txt").await;
    let uri = out["content"]["url"].as_str().unwrap().trim_start_matches("mxc://").to_owned();
    let path = format!("client/v1/media/download/{uri}");
    assert_eq!(media(&person, Method::GET, &path, b"").await, b"words outside");
    person.say(&room, "b5", text("!whoami")).await;
    person.hear(&room, "You are").await;
    // The server goes away and comes back: what was said meanwhile is answered once.
    gate.close(&world, "matrix").await;
    person.say(&room, "b6", text("while you were away")).await;
    gate.open();
    person.hear(&room, "heard: while you were away").await;
    let answers = said(&person, &room).await;
    let times = answers.iter().filter(|it| {
        let edit = it["content"]["m.relates_to"]["rel_type"] == "m.replace";
        !edit && it["content"].to_string().contains("heard: while")
    });
    assert_eq!(times.count(), 1, "{answers:#?}");
}

#[tokio::test]
async fn s4_s89_a_matrix_room_that_is_upgraded_goes_on_and_an_encrypted_one_is_told_once() {
    let Some(server) = told("s89", "synapse", "MATRIX_HOMESERVER") else { return };
    let _alone = MATRIX.lock().await;
    let token = variable("MATRIX_PERSON_TOKEN");
    let person = Person { net: Arc::new(Net::default()), server: server.clone(), token };
    let variables = vec![
        ("MATRIX_HOMESERVER", server),
        ("MATRIX_ACCESS_TOKEN", bot_login(&person).await),
        ("MATRIX_USER_ID", "@bot:localhost".to_owned()),
        ("MATRIX_ALLOWED_USERS", "@person:localhost".to_owned()),
    ];
    let model = Scripted::default().otherwise(|prompt, _| {
        let users = prompt.messages.iter().filter(|it| matches!(it, Message::User { .. })).count();
        Act::Say(format!("turn {users}"))
    });
    let values = r#"{ "matrix": { "require_mention": false } }"#;
    let world = World::with(model, config("matrix", variables, values)).await;
    connected(&world, "matrix").await;
    let old = room(&person, json!({})).await;
    person.say(&old, "u1", text("hello")).await;
    person.hear(&old, "turn 1").await;
    let path = format!("rooms/{}/upgrade", encoded(&old));
    let upgraded = person.call(Method::POST, &path, Some(json!({ "new_version": "10" }))).await;
    let new = upgraded["replacement_room"].as_str();
    let new = new.unwrap_or_else(|| unreachable!("{upgraded}")).to_owned();
    let path = format!("rooms/{}/invite", encoded(&new));
    let invite = json!({ "user_id": "@bot:localhost" });
    person.call(Method::POST, &path, Some(invite)).await;
    joined(&person, &new).await;
    person.say(&new, "u2", text("are you there?")).await;
    person.hear(&new, "turn 2").await;
    // A room that nobody here can read.
    let encryption = json!({
        "type": "m.room.encryption", "state_key": "",
        "content": { "algorithm": "m.megolm.v1.aes-sha2" },
    });
    let secret = room(&person, json!({ "initial_state": [encryption] })).await;
    let sealed = json!({
        "algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgAEnACgAkLmt6", "device_id": "D",
        "sender_key": "key", "session_id": "session",
    });
    for at in 0..3 {
        let path = format!("rooms/{}/send/m.room.encrypted/e{at}", encoded(&secret));
        person.call(Method::PUT, &path, Some(sealed.clone())).await;
    }
    person.hear(&secret, "I cannot read encrypted rooms").await;
    holds("a word in the status", async || {
        matches!(state(&world, "matrix"), AccountState::Degraded(_))
    })
    .await;
    // The other room goes on, and the sealed one hears nothing more.
    person.say(&new, "u3", text("still there?")).await;
    person.hear(&new, "turn 3").await;
    let words = said(&person, &secret).await;
    let words = words.iter().filter(|it| it["type"] == "m.room.message").count();
    assert_eq!(words, 1, "one notice");
}

#[tokio::test]
async fn s92_irc_consent_by_words_and_a_real_restart_of_ngircd() {
    if told("s92", "ngircd", "IRC_ADDRESS").is_none() {
        return;
    }
    let (home, port) = (tempfile::tempdir().unwrap(), free_port());
    let file = home.path().join("ngircd.conf");
    let group = "[Options]\nDNS = no\nIdent = no\nPAM = no\n";
    put(
        &file,
        &format!(
            "[Global]\nName = irc.test\nInfo = test\nListen = 127.0.0.1\nPorts = {port}\n{group}"
        ),
    );
    let file = file.display().to_string();
    let words = ["/usr/sbin/ngircd", "-n", "-f", file.as_str()];
    let server = Own::start(&words, port).await;
    let variables = vec![
        ("IRC_SERVER", "127.0.0.1".to_owned()),
        ("IRC_PORT", port.to_string()),
        ("IRC_USE_TLS", "false".to_owned()),
        ("IRC_CHANNEL", "#petasos".to_owned()),
        ("IRC_NICKNAME", "petabot".to_owned()),
        ("IRC_ALLOWED_USERS", "una".to_owned()),
    ];
    let values = r#"{ "irc": { "trust_nicks": true } }"#;
    let world = World::with(helper(Path::new("/nothing")), config("irc", variables, values)).await;
    connected(&world, "irc").await;
    let address = format!("127.0.0.1:{port}");
    let (mut reader, mut writer) = irc_person(&address, "una").await;
    writer.write_all(b"PRIVMSG petabot :make a list\r\n").await.unwrap();
    irc_until(&mut reader, &mut writer, "reply: yes 1").await;
    writer.write_all(b"PRIVMSG petabot :yes 1\r\n").await.unwrap();
    irc_until(&mut reader, &mut writer, "The list is written").await;
    drop((reader, writer, server));
    retries(&world, "irc").await;
    let _server = Own::start(&words, port).await;
    connected(&world, "irc").await;
    let (mut reader, mut writer) = irc_person(&address, "una").await;
    writer.write_all(b"PRIVMSG petabot :are you back?\r\n").await.unwrap();
    irc_until(&mut reader, &mut writer, "heard: are you back?").await;
}

#[tokio::test]
async fn s94_mqtt_consent_by_words_and_a_real_restart_of_mosquitto() {
    if told("s94", "mosquitto", "MQTT_ADDRESS").is_none() {
        return;
    }
    let (home, port) = (tempfile::tempdir().unwrap(), free_port());
    let file = home.path().join("mosquitto.conf");
    put(&file, &format!("listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n"));
    let file = file.display().to_string();
    let words = ["/usr/sbin/mosquitto", "-c", file.as_str()];
    let server = Own::start(&words, port).await;
    let address = format!("127.0.0.1:{port}");
    let variables = vec![
        ("MQTT_URL", format!("mqtt://{address}")),
        ("MQTT_TOPIC", "test".to_owned()),
        ("MQTT_ALLOWED_USERS", "lamp".to_owned()),
    ];
    let world = World::with(helper(Path::new("/nothing")), config("mqtt", variables, "{}")).await;
    connected(&world, "mqtt").await;
    let heard = async |other: &mut Publisher, part: &str| loop {
        let heard = other.hear().await;
        if heard["text"].as_str().is_some_and(|text| text.contains(part)) {
            return;
        }
    };
    let mut other = Publisher::connect(&address, "una", "test/out/lamp").await;
    other.publish("test/in/lamp", r#"{"id": "1", "text": "make a list"}"#, false).await;
    heard(&mut other, "reply: yes 1").await;
    other.publish("test/in/lamp", r#"{"id": "2", "text": "yes 1"}"#, false).await;
    heard(&mut other, "The list is written").await;
    drop((other, server));
    retries(&world, "mqtt").await;
    let _server = Own::start(&words, port).await;
    connected(&world, "mqtt").await;
    let mut other = Publisher::connect(&address, "una", "test/out/lamp").await;
    other.publish("test/in/lamp", r#"{"id": "3", "text": "are you back?"}"#, false).await;
    heard(&mut other, "heard: are you back?").await;
}

#[tokio::test]
async fn s93_xmpp_consent_edits_and_a_server_that_comes_back() {
    let Some(address) = told("s93", "prosody", "XMPP_ADDRESS") else { return };
    let _alone = XMPP.lock().await;
    let gate = Gate::before(&address).await;
    let account = |jid: &str, at: &str, password: String, peer: &str| {
        let variables = vec![
            ("XMPP_JID", jid.to_owned()),
            ("XMPP_PASSWORD", password),
            ("XMPP_HOST", at.to_owned()),
            ("XMPP_ALLOWED_USERS", peer.to_owned()),
        ];
        config("xmpp", variables, r#"{ "streaming": { "enabled": true } }"#)
    };
    let own = format!("127.0.0.1:{}", gate.port);
    let bot = account("bot@localhost", &own, variable("XMPP_BOT_PASSWORD"), "una@localhost");
    let una = account("una@localhost", &address, variable("XMPP_UNA_PASSWORD"), "bot@localhost");
    let world = World::with(helper(Path::new("/nothing")), bot).await;
    let silent = Scripted::default().otherwise(|_, _| Act::say("NO_REPLY"));
    let una = World::with(silent, una).await;
    connected(&world, "xmpp").await;
    connected(&una, "xmpp").await;
    let mark = std::process::id();
    sends(&una, "bot@localhost", "b1", "make a list").await;
    told_to(&una, "reply: yes 1").await;
    sends(&una, "bot@localhost", "b2", "yes 1").await;
    // The answer takes the place of the words that were shown: a correction of them.
    holds("the answer", async || {
        let sent = world.store.deliveries(&[DeliveryState::Sent], 50).await.unwrap();
        sent.iter().any(|row| row.delivery.body.contains("The list is written"))
    })
    .await;
    gate.close(&world, "xmpp").await;
    sends(&una, "bot@localhost", "b3", &format!("while you were away {mark}")).await;
    gate.open();
    told_to(&una, &format!("heard: while you were away {mark}")).await;
}

/// A letter with its parts in words.
fn decoded(letter: &str) -> String {
    let mut out = letter.to_owned();
    for part in letter.split("Content-Transfer-Encoding: base64").skip(1) {
        let body = part.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let text: String = body.lines().take_while(|it| !it.starts_with("--")).collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim());
        out.push_str(&String::from_utf8_lossy(&bytes.unwrap_or_default()));
    }
    out
}

#[tokio::test]
async fn s15_s17_s90_mail_attachments_consent_and_a_server_that_comes_back() {
    let Some(host) = told("s90", "mail", "MAIL_HOST") else { return };
    let _alone = MAIL.lock().await;
    let cert = variable("MAIL_CA_FILE");
    let gate = Gate::before(&format!("{host}:{}", variable("MAIL_IMAPS_PORT"))).await;
    let values = json!({ "platforms": { "email": { "ca_cert": cert } } }).to_string();
    let home = tempfile::tempdir().unwrap();
    let name = format!("out-{}-{}.txt", std::process::id(), crate::double::now());
    let file = home.path().join("cache/documents").join(&name);
    put(&file, "words outside");
    let variables = vec![
        ("EMAIL_ADDRESS", "bot@petasos.test".to_owned()),
        ("EMAIL_PASSWORD", "bot-password".to_owned()),
        ("EMAIL_IMAP_HOST", "127.0.0.1".to_owned()),
        ("EMAIL_IMAP_PORT", gate.port.to_string()),
        ("EMAIL_SMTP_HOST", host.clone()),
        ("EMAIL_SMTP_PORT", variable("MAIL_SMTP_PORT")),
        ("EMAIL_ALLOWED_USERS", "person@petasos.test".to_owned()),
        ("EMAIL_TRUST_FROM_HEADER", "1".to_owned()),
        ("EMAIL_AUTHSERV_ID", "mx.petasos.test".to_owned()),
    ];
    let config = config("email", variables, Box::leak(values.into_boxed_str()));
    let world = World::at(home.path(), Arc::default(), helper(&file), config).await;
    connected(&world, "email").await;
    let person = Correspondent {
        host,
        smtp: variable("MAIL_SMTP_PORT").parse().unwrap(),
        imaps: variable("MAIL_IMAPS_PORT").parse().unwrap(),
        cert,
    };
    let run = format!("{}-{}", std::process::id(), crate::double::now());
    let write = async |name: &str, more: &str, text: &str| {
        let headers = format!("Message-ID: <{name}-{run}@x>\r\nSubject: back {run}\r\n{more}");
        person.write("person@petasos.test", &headers, text).await;
    };
    let answer = async |name: &str| {
        let letter = person.hear("person", &format!("In-Reply-To: <{name}-{run}@x>")).await;
        decoded(&letter)
    };
    // Consent by words, in the thread.
    write("list", "", "make a list").await;
    let card = answer("list").await;
    assert!(card.contains("needs your consent"), "{card}");
    let thread = format!("In-Reply-To: <list-{run}@x>\r\nReferences: <list-{run}@x>\r\n");
    write("yes", &thread, "yes 1").await;
    holds("what follows from consent", async || {
        let sent = world.store.deliveries(&[DeliveryState::Sent], 50).await.unwrap();
        sent.iter().any(|row| row.delivery.body.contains("The list is written"))
    })
    .await;
    // A file in, a file out.
    let parts = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=edge\r\n";
    let body = "--edge\r\nContent-Type: text/plain\r\n\r\nlook at this\r\n--edge\r\n\
                Content-Type: text/plain; name=in.txt\r\n\
                Content-Disposition: attachment; filename=in.txt\r\n\r\nwords inside\r\n--edge--";
    write("in", parts, body).await;
    let heard = answer("in").await;
    assert!(heard.contains("in.txt") && heard.contains("words inside"), "{heard}");
    write("out", "", "send the file").await;
    // The file comes in a letter of its own, in the same thread of the mailbox.
    answer("out").await;
    let out = decoded(&person.hear("person", &name).await);
    assert!(out.contains("words outside") && out.contains(&format!("back {run}")), "{out}");
    // The mailbox goes away and comes back.
    gate.close(&world, "email").await;
    write("away", "", "while you were away").await;
    gate.open();
    let heard = answer("away").await;
    assert!(heard.contains("heard: while you were away"), "{heard}");
}

#[tokio::test]
async fn s95_home_assistant_comes_back_and_is_watched_again() {
    let Some(url) = told("s95", "homeassistant", "HASS_URL") else { return };
    let gate = Gate::before(url.trim_start_matches("http://")).await;
    let token = variable("HASS_TOKEN");
    let own = format!("http://127.0.0.1:{}", gate.port);
    let variables = vec![("HASS_URL", own), ("HASS_TOKEN", token.clone())];
    let values = r#"{ "platforms": { "homeassistant": { "watch_entities": ["input_boolean.heater"], "cooldown_seconds": 0 } } }"#;
    let world = World::with(
        Scripted::default().otherwise(|_, _| Act::say("noted")),
        config("homeassistant", variables, values),
    )
    .await;
    connected(&world, "homeassistant").await;
    gate.close(&world, "homeassistant").await;
    gate.open();
    connected(&world, "homeassistant").await;
    let net = Net::default();
    let toggle = Url::parse(&format!("{url}/api/services/input_boolean/toggle")).unwrap();
    let request = Request::new(Method::POST, toggle);
    let request = request.header("authorization", &format!("Bearer {token}")).unwrap();
    let request = request.header("content-type", "application/json").unwrap();
    let body = json!({ "entity_id": "input_boolean.heater" }).to_string();
    assert_eq!(net.send(request.body(body)).await.unwrap().status, 200);
    holds("a turn", async || world.gateway.status().await.unwrap().counts["accepted"] >= 1).await;
}
