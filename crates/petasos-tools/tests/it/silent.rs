//! Services that take a connection and never say a word. Whoever waits for them hears a cancel
//! within a second, whatever the tool, and does not try again. And what a model gets wrong in its
//! arguments is told in the shared words, whatever the tool. E19 4, 10, 11.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::ports::Logins;
use petasos_contract::{Args, BoxFuture, Secret, Settings, ToolOutput};
use petasos_testkit::pace::fair;
use petasos_tools::BUILTIN;
use serde_json::{Map, Value, json};

use crate::bench::Bench;

/// Whoever came, and when the first one did.
#[derive(Default)]
struct Came {
    held: Vec<TcpStream>,
    first: Option<Instant>,
}

type Cancel = Box<dyn Fn() + Send>;

/// A service that takes connections and cancels a call as soon as it came.
struct Silent {
    port: u16,
    cancel: Arc<Mutex<Option<Cancel>>>,
    came: Arc<Mutex<Came>>,
}

impl Silent {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cancel, came) = (Arc::<Mutex<_>>::default(), Arc::<Mutex<Came>>::default());
        let (own, kept): (Arc<Mutex<Option<Cancel>>>, _) = (Arc::clone(&cancel), Arc::clone(&came));
        std::thread::spawn(move || {
            for peer in listener.incoming().flatten() {
                let mut came = kept.lock();
                came.held.push(peer);
                came.first.get_or_insert_with(Instant::now);
                if let Some(cancel) = own.lock().as_ref() {
                    cancel();
                }
            }
        });
        Self { port, cancel, came }
    }
}

struct SignedIn;

impl Logins for SignedIn {
    fn is_signed_in(&self, _: &str, _: &Settings) -> bool {
        true
    }

    fn access<'a>(
        &'a self,
        _: &'a str,
        _: &'a Settings,
        _: Option<&'a Secret>,
    ) -> BoxFuture<'a, Result<Secret, String>> {
        Box::pin(std::future::ready(Ok(Secret::new("token-1"))))
    }
}

/// Every service at one port.
fn bench(port: u16) -> Bench {
    let (host, url) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
    let settings = json!({
        "services": { "endpoints": {
            "discord": url, "feishu": url, "spotify": url, "xai": url, "yuanbao": url,
            "yuanbao_ws": format!("ws://{host}"), "yuanbao_files": url, "wandb": url,
        } },
        "dav": { "url": url, "user": "ada" },
        "mail": { "address": "ada@x.test", "imap_host": "127.0.0.1", "imap_port": port,
            "smtp_host": "127.0.0.1", "smtp_port": port },
        "notify": { "topic": "phone" },
        "security": { "private_hosts": [host] },
        "sql": { "databases": { "shop": { "url": format!("postgres://ada@{host}/shop") } } },
        "image_gen": { "provider": "openai", "openai": { "base_url": url } },
        "video_gen": { "provider": "xai", "xai": { "base_url": url } },
    });
    let variables = [
        ("HASS_URL", url.as_str()),
        ("HASS_TOKEN", "t"),
        ("DAV_PASSWORD", "t"),
        ("MAIL_PASSWORD", "t"),
        ("DISCORD_BOT_TOKEN", "t"),
        ("FEISHU_APP_ID", "a"),
        ("FEISHU_APP_SECRET", "s"),
        ("YUANBAO_APP_ID", "a"),
        ("YUANBAO_APP_SECRET", "s"),
        ("XAI_API_KEY", "x"),
        ("OPENAI_API_KEY", "o"),
        ("NTFY_SERVER", url.as_str()),
        ("SEARXNG_URL", url.as_str()),
    ];
    let mut bench = Bench::set_up(&settings, &variables);
    bench.ports.logins = Some(Arc::new(SignedIn));
    bench
}

/// Tools that wait for a service, called as their first example says.
const WAITING: &str = "ha_call_service ha_get_state ha_list_entities ha_list_services calendar_list \
    calendar_create calendar_events calendar_update calendar_delete contacts mail_search mail_read \
    mail_draft mail_send notify discord discord_admin feishu_doc_read feishu_drive_add_comment \
    feishu_drive_list_comments feishu_drive_list_comment_replies feishu_drive_reply_comment \
    spotify_albums spotify_devices spotify_library spotify_playback spotify_playlists spotify_queue \
    spotify_search x_search yb_query_group_info yb_query_group_members yb_send_dm yb_send_sticker \
    http_request web_search web_extract sql_query kanban_attach_url image_generate video_generate \
    xai_video_edit xai_video_extend";

#[test]
fn e10_e11_a_cancel_is_heard_within_a_second_and_nobody_tries_again() {
    let mut wrong = Vec::new();
    for name in WAITING.split_whitespace() {
        let def = BUILTIN.iter().find(|def| def.name == name).unwrap();
        let silent = Silent::open();
        let bench = bench(silent.port);
        let mut args: Map<String, Value> = serde_json::from_str(def.examples[0].args).unwrap();
        let page = format!("http://127.0.0.1:{}/", silent.port);
        match name {
            "http_request" => drop(args.insert("url".to_owned(), json!(page))),
            "web_extract" => drop(args.insert("urls".to_owned(), json!([page]))),
            "kanban_attach_url" => {
                let made = json!({ "title": "T", "assignee": "w" });
                let made = bench.run("kanban_create", &made);
                args.insert("task_id".to_owned(), made["task_id"].clone());
                args.insert("url".to_owned(), json!(page));
            }
            "calendar_update" | "calendar_delete" => {
                args.insert("id".to_owned(), json!("/ada/home/1.ics"));
            }
            _ => {}
        }
        let cancel = bench.cx.cancel.clone();
        *silent.cancel.lock() = Some(Box::new(move || cancel.cancel()));
        let told = bench.try_run(name, &Value::Object(args));
        let (came, first) = {
            let came = silent.came.lock();
            (came.held.len(), came.first)
        };
        let Some(first) = first else {
            wrong.push(format!("{name} asked nobody: {told:?}"));
            continue;
        };
        let took = first.elapsed();
        if took > fair(Duration::from_secs(1)) {
            wrong.push(format!("{name} took {took:?}"));
        }
        let text = match told {
            Ok(ToolOutput::Text(text) | ToolOutput::Untrusted(text)) => text,
            other => format!("{other:?}"),
        };
        if !text.contains("cancelled") {
            wrong.push(format!("{name} says {text}"));
        }
        // A house is looked at in two ways at once.
        let most = if name.starts_with("ha_") { 2 } else { 1 };
        if came > most {
            wrong.push(format!("{name} asked {came} times"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Those that were there before the shared words; each has the shapes of its own contract.
const OLDER: &str = "execute_code patch process read_file search_files terminal write_file";
const KINDS: &str = "missing_setup bad_argument not_found ambiguous stale covered not_actionable \
    dialog_open blocked_address blocked_policy blocked_site tainted denied timeout cancelled \
    rate_limited quota auth upstream too_large unsupported crashed busy no_result";

/// A value of a kind that no service has a use for.
fn odd(property: &Value, turn: usize) -> Value {
    let texts = ["", "\u{202e}\u{0}", "../../etc/passwd", "{}", "💥'; DROP TABLE x; --"];
    let kind = property["type"].as_str().unwrap_or("string");
    match kind {
        "string" => texts[turn % texts.len()].into(),
        "integer" | "number" => [json!(-1), json!(0), json!(i64::MAX)][turn % 3].clone(),
        "boolean" => turn.is_multiple_of(2).into(),
        "array" => [json!([]), json!([""])][turn % 2].clone(),
        _ => json!({}),
    }
}

#[test]
fn e4_what_is_wrong_with_arguments_is_told_in_the_shared_words() {
    // Nobody listens there.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut wrong = Vec::new();
    for def in BUILTIN.iter().filter(|def| !OLDER.split(' ').any(|name| name == def.name)) {
        let bench = bench(nobody);
        let schema = (def.schema)();
        let empty = Map::new();
        let properties = schema["parameters"]["properties"].as_object().unwrap_or(&empty);
        for turn in 0..5 {
            let args = properties.iter().map(|(name, it)| (name.clone(), odd(it, turn)));
            let args: Map<String, Value> = if turn == 4 { Map::new() } else { args.collect() };
            let tool = bench.tool(def.name);
            let called = Args::try_from(Value::Object(args.clone())).unwrap();
            let told = bench.runtime.block_on(petasos_testkit::call(&*tool, called, &bench.cx));
            // An argument that cannot be read is the door's to tell.
            let Ok(told) = told else { continue };
            let (ToolOutput::Text(text) | ToolOutput::Untrusted(text)) = told else { continue };
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            let Some(error) = value.get("error").filter(|error| !error.is_null()) else { continue };
            let kind = value["error_type"].as_str().unwrap_or_default();
            let known = KINDS.split_whitespace().any(|known| known == kind);
            if !known
                || error.as_str().is_none_or(str::is_empty)
                || error.as_str().is_some_and(|text| text.chars().count() > 400)
            {
                wrong.push(format!("{} {}: {text}", def.name, Value::Object(args)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
