//! One suite over every adapter whose vendor is doubled here: connect, receive, dedup, send, split,
//! card, edit, media, catch-up, reconnect, limits (S80). What a platform cannot do is declared by
//! its double as data, with the reason.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petasos_agent::{Act, Scripted};
use petasos_contract::message::Message;
use petasos_gateway::{AccountState, PLATFORMS};

use crate::doubles;
use crate::world::{Config, World};

/// A step of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Dedup,
    Buttons,
    Edit,
    MediaIn,
    MediaOut,
    CatchUp,
    Reconnect,
    Limits,
}

/// A message that arrived at the vendor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrived {
    pub(crate) chat: String,
    pub(crate) text: String,
    /// What pressing each button sends.
    pub(crate) buttons: Vec<String>,
    pub(crate) file: Option<String>,
}

/// The vendor's side, as the suite drives it. Una is the one person who may write.
pub(crate) trait Side {
    /// The platform.
    fn name(&self) -> &'static str;

    /// Variables and keys.
    fn variables(&self) -> Vec<(&'static str, String)>;

    /// Keys of the configuration, as JSON.
    fn values(&self) -> String {
        "{}".to_owned()
    }

    /// What it cannot do, and why.
    fn skips(&self) -> &'static [(Step, &'static str)];

    /// Una's direct chat.
    fn chat(&self) -> &'static str;

    /// Una writes.
    fn write(&self, id: u32, text: &str);

    /// The same event once more.
    fn again(&self, _id: u32) {}

    /// Una presses a button.
    fn press(&self, _data: &str) {}

    /// Una sends a file.
    fn give_file(&self, _id: u32, _name: &str, _bytes: &[u8]) {}

    /// What arrived, in order.
    fn arrived(&self) -> Vec<Arrived>;

    /// How often a message of ours got other words.
    fn edits(&self) -> usize {
        0
    }

    /// Every connection breaks.
    fn cut(&self) {}

    /// How often somebody connected.
    fn connections(&self) -> u64 {
        1
    }

    /// A variable with a token that the vendor does not know; nothing where there is none.
    fn wrong(&self) -> Option<(&'static str, String)> {
        None
    }

    /// The next message is refused with "too fast".
    fn slow_down(&self) {}
}

/// Does what the words say.
fn script(file: &Path) -> Scripted {
    let directive = format!("here it is\nMEDIA:{}", file.display());
    Scripted::default().otherwise(move |prompt, _| {
        if matches!(prompt.messages.last(), Some(Message::Tool(_))) {
            return Act::say("listed");
        }
        let said = prompt.messages.iter().rev().find_map(|message| match message {
            Message::User { content } => Some(content.text()),
            _ => None,
        });
        let said = said.unwrap_or_default();
        match said.as_str() {
            "make a list" => Act::call(
                "todo",
                r#"{"todos": [{"id": "1", "content": "x", "status": "pending"}]}"#,
            ),
            "a long answer" => Act::Say("word ".repeat(3000)),
            "send the file" => Act::Say(directive.clone()),
            _ => Act::Say(format!("heard: {said}")),
        }
    })
}

pub(crate) async fn soon<T>(what: &str, side: &dyn Side, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..12_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    unreachable!("{}: not seen: {what}: {:#?}", side.name(), side.arrived());
}

/// Waits until a message holds, and counts those that do.
pub(crate) async fn arrives(
    side: &dyn Side,
    what: &str,
    holds: impl Fn(&Arrived) -> bool,
) -> Arrived {
    soon(what, side, || side.arrived().into_iter().find(|it| holds(it))).await
}

fn count(side: &dyn Side, text: &str) -> usize {
    side.arrived().iter().filter(|it| it.text.contains(text)).count()
}

/// A gateway that speaks with this side, in a home of its own.
pub(crate) async fn begin(side: &dyn Side) -> (tempfile::TempDir, World) {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("cache/documents/out.txt");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::io::Write::write_all(&mut std::fs::File::create(&file).unwrap(), b"out").unwrap();
    let def = PLATFORMS.iter().copied().find(|def| def.name == side.name()).unwrap();
    let config = Config {
        values: Box::leak(side.values().into_boxed_str()),
        variables: side.variables(),
        platforms: vec![def],
        ..Config::default()
    };
    let world = World::at(home.path(), Arc::default(), script(&file), config).await;
    connects(side, &world).await;
    (home, world)
}

pub(crate) async fn connects(side: &dyn Side, world: &World) {
    let state = || {
        let accounts = world.gateway.accounts();
        let account = accounts.iter().find(|it| it.def.name == side.name());
        account.unwrap().state().0
    };
    soon("a connection", side, || (state() == AccountState::Connected).then_some(())).await;
}

fn does(side: &dyn Side, step: Step) -> bool {
    !side.skips().iter().any(|(skipped, _)| *skipped == step)
}

async fn conform(side: &dyn Side) {
    let (_home, world) = begin(side).await;
    talks(side).await;
    splits(side).await;
    asks(side).await;
    carries_files(side).await;
    if does(side, Step::Limits) {
        side.slow_down();
        side.write(8, "slowly");
        arrives(side, "an answer after a pause", |it| it.text.contains("heard: slowly")).await;
        assert_eq!(count(side, "heard: slowly"), 1, "{}", side.name());
    }
    comes_back(side, &world).await;
    assert_eq!(count(side, "heard: hello"), 1, "{}: nothing twice in the end", side.name());
}

async fn talks(side: &dyn Side) {
    side.write(1, "hello");
    let answer = arrives(side, "an answer", |it| it.text.contains("heard: hello")).await;
    assert_eq!(answer.chat, side.chat(), "{}", side.name());
    if does(side, Step::Dedup) {
        side.again(1);
    }
    side.write(2, "a second one");
    arrives(side, "the next answer", |it| it.text.contains("heard: a second one")).await;
    assert_eq!(count(side, "heard: hello"), 1, "{}: answered once", side.name());
}

async fn splits(side: &dyn Side) {
    let def = PLATFORMS.iter().copied().find(|def| def.name == side.name()).unwrap();
    side.write(3, "a long answer");
    let words = || side.arrived().iter().map(|it| it.text.matches("word").count()).sum::<usize>();
    soon("all of a long answer", side, || (words() >= 3000).then_some(())).await;
    let parts: Vec<Arrived> =
        side.arrived().into_iter().filter(|it| it.text.contains("word")).collect();
    let fits = |it: &Arrived| def.form.unit.measure(&it.text) <= def.form.limit;
    let divided = parts.len() > 1 || def.form.limit >= 15_000;
    assert!(divided && parts.iter().all(fits), "{}: parts", side.name());
    assert_eq!(words(), 3000, "{}: joined they are the text", side.name());
}

async fn asks(side: &dyn Side) {
    side.write(4, "make a list");
    let card = arrives(side, "a card", |it| it.text.contains("needs your consent")).await;
    if does(side, Step::Buttons) {
        assert!(card.buttons.len() >= 2, "{}: {card:?}", side.name());
        side.press(&card.buttons[0]);
    } else {
        assert!(card.text.contains("reply: yes 1"), "{}: {card:?}", side.name());
        side.write(5, "yes 1");
    }
    arrives(side, "what follows from consent", |it| it.text.contains("listed")).await;
    if does(side, Step::Edit) {
        soon("the decided card", side, || (side.edits() > 0).then_some(())).await;
    }
}

async fn carries_files(side: &dyn Side) {
    if does(side, Step::MediaIn) {
        side.give_file(6, "in.txt", b"words inside");
        let told = |it: &Arrived| it.text.contains("in.txt") && it.text.contains("words inside");
        arrives(side, "what is in a file", told).await;
    }
    if does(side, Step::MediaOut) {
        side.write(7, "send the file");
        arrives(side, "a file", |it| it.file.as_deref() == Some("out.txt")).await;
    }
}

async fn comes_back(side: &dyn Side, world: &World) {
    if !does(side, Step::Reconnect) {
        return;
    }
    let before = side.connections();
    side.cut();
    if does(side, Step::CatchUp) {
        side.write(9, "while you were away");
    }
    soon("a new connection", side, || (side.connections() > before).then_some(())).await;
    if does(side, Step::CatchUp) {
        arrives(side, "an answer to what waited", |it| it.text.contains("heard: while you")).await;
        assert_eq!(count(side, "heard: while you"), 1, "{}", side.name());
    }
    connects(side, world).await;
    side.write(10, "and now");
    arrives(side, "an answer afterwards", |it| it.text.contains("heard: and now")).await;
}

pub(crate) async fn bounded(future: impl Future<Output = ()>) {
    let ended = tokio::time::timeout(Duration::from_mins(3), Box::pin(future)).await;
    assert!(ended.is_ok(), "the suite hangs");
}

#[tokio::test]
async fn s80_s86_discord() {
    // S86: a session that the server forgot is begun anew, and what was missed is read.
    bounded(async {
        let side = doubles::discord::new().await;
        Box::pin(conform(&side)).await;
        assert!(!side.vendor.resumes.lock().is_empty(), "the session was not resumed");
    })
    .await;
}

#[tokio::test]
async fn s80_slack() {
    bounded(async { Box::pin(conform(&doubles::slack::new().await)).await }).await;
}

#[tokio::test]
async fn s80_mattermost() {
    bounded(async { Box::pin(conform(&doubles::mattermost::new().await)).await }).await;
}

#[tokio::test]
async fn s80_signal() {
    bounded(async { Box::pin(conform(&doubles::signal::new().await)).await }).await;
}

#[tokio::test]
async fn s80_ntfy() {
    bounded(async { Box::pin(conform(&doubles::ntfy::new().await)).await }).await;
}

#[tokio::test]
async fn s80_yuanbao() {
    bounded(async { Box::pin(conform(&doubles::yuanbao::new().await)).await }).await;
}

#[tokio::test]
async fn s80_whatsapp() {
    bounded(async { Box::pin(conform(&doubles::whatsapp::new().await)).await }).await;
}

#[tokio::test]
async fn s80_whatsapp_cloud() {
    bounded(async { Box::pin(conform(&doubles::whatsapp_cloud::new().await)).await }).await;
}

#[tokio::test]
async fn s80_sms() {
    bounded(async { Box::pin(conform(&doubles::sms::new().await)).await }).await;
}

#[tokio::test]
async fn s80_feishu() {
    bounded(async { Box::pin(conform(&doubles::feishu::new().await)).await }).await;
}

#[tokio::test]
async fn s80_dingtalk() {
    bounded(async { Box::pin(conform(&doubles::dingtalk::new().await)).await }).await;
}

#[tokio::test]
async fn s80_wecom_callback() {
    bounded(async { Box::pin(conform(&doubles::wecom_callback::new().await)).await }).await;
}

#[tokio::test]
async fn s80_bluebubbles() {
    bounded(async { Box::pin(conform(&doubles::bluebubbles::new().await)).await }).await;
}

#[tokio::test]
async fn s80_weixin() {
    bounded(async { Box::pin(conform(&doubles::weixin::new().await)).await }).await;
}

#[tokio::test]
async fn s80_qqbot() {
    bounded(async {
        let side = doubles::qqbot::new().await;
        Box::pin(conform(&side)).await;
        assert!(*side.vendor.resumed.lock() > 0, "the session was not resumed");
        assert_eq!(*side.vendor.confirmed.lock(), 1, "a press is confirmed");
    })
    .await;
}

#[tokio::test]
async fn s80_wecom() {
    bounded(async { Box::pin(conform(&doubles::wecom::new().await)).await }).await;
}

/// A token that the vendor refuses ends the tries at once, says so, and disturbs nobody.
async fn refuses(side: &dyn Side) {
    let Some((name, value)) = side.wrong() else { unreachable!("{} has tokens", side.name()) };
    let mut variables = side.variables();
    variables.retain(|(known, _)| *known != name);
    variables.extend([(name, value), ("LOOPBACK_ALLOWED_USERS", "una".to_owned())]);
    let def = PLATFORMS.iter().copied().find(|def| def.name == side.name()).unwrap();
    let config = Config {
        values: Box::leak(side.values().into_boxed_str()),
        variables,
        platforms: vec![def],
        ..Config::default()
    };
    let world = World::with(script(Path::new("/nothing")), config).await;
    let state = |name: &str| {
        let accounts = world.gateway.accounts();
        let account = accounts.iter().find(|it| it.def.name == name);
        account.unwrap().state().0
    };
    soon("a refusal", side, || matches!(state(side.name()), AccountState::Fatal(_)).then_some(()))
        .await;
    world.una("1", "hello").await;
    assert_eq!(world.texts("c-una", 1).await, ["heard: hello"]);
    assert!(world.gateway.status().await.unwrap().is_degraded());
}

#[tokio::test]
async fn s83_a_wrong_token_is_fatal_at_once_and_disturbs_nobody() {
    bounded(async {
        Box::pin(refuses(&doubles::discord::new().await)).await;
        Box::pin(refuses(&doubles::slack::new().await)).await;
        Box::pin(refuses(&doubles::mattermost::new().await)).await;
        Box::pin(refuses(&doubles::ntfy::new().await)).await;
        Box::pin(refuses(&doubles::whatsapp_cloud::new().await)).await;
        Box::pin(refuses(&doubles::sms::new().await)).await;
        Box::pin(refuses(&doubles::wecom::new().await)).await;
        Box::pin(refuses(&doubles::weixin::new().await)).await;
        Box::pin(refuses(&doubles::bluebubbles::new().await)).await;
        Box::pin(refuses(&doubles::qqbot::new().await)).await;
        Box::pin(refuses(&doubles::wecom_callback::new().await)).await;
        Box::pin(refuses(&doubles::dingtalk::new().await)).await;
        Box::pin(refuses(&doubles::feishu::new().await)).await;
    })
    .await;
}
