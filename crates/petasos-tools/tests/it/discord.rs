//! The Discord tools against a stand-in that knows the published interface. E19 149.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use petasos_contract::effect::Effect;
use petasos_contract::tool::Patch;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::double::{Double, Said, Seen};

const TABLE: &str = include_str!("../doubles/discord.json");
const MEMBERS: u64 = 1 << 15;
const CONTENT: u64 = 1 << 19;

fn bot(flags: u64, answer: impl Fn(&Seen) -> Said + Send + Sync + 'static) -> Double {
    Double::start(TABLE, "/api/v10", move |seen| {
        assert_eq!(seen.headers["authorization"], "Bot bot-token");
        if seen.path == "/applications/@me" {
            Said::ok(json!({ "id": "1", "flags": flags }))
        } else {
            answer(seen)
        }
    })
}

fn bench(double: &Double, settings: Value) -> Bench {
    let mut settings = settings;
    settings["services"] = json!({ "endpoints": { "discord": double.url } });
    Bench::set_up(&settings, &[("DISCORD_BOT_TOKEN", "bot-token")])
}

fn message(id: &str) -> Value {
    json!({ "id": id, "content": "hi", "author": { "id": "9", "username": "ada", "avatar": "x" }, "type": 0,
        "timestamp": "2026-01-01T00:00:00Z", "edited_timestamp": null, "pinned": false, "embeds": [],
        "attachments": [{ "id": "3", "filename": "a.png", "size": 4, "url": "https://cdn/x", "height": 1 }],
        "reactions": [{ "emoji": { "name": "👍" }, "count": 2, "me": false }] })
}

/// What a small server has.
fn of_a_server(seen: &Seen) -> Said {
    match seen.line().as_str() {
        "GET /users/@me/guilds" => {
            Said::ok(json!([{ "id": "1", "name": "Hats", "owner": false, "icon": "x" }]))
        }
        "GET /guilds/1" => Said::ok(
            json!({ "id": "1", "name": "Hats", "approximate_member_count": 4, "owner_id": "9", "emojis": [] }),
        ),
        "GET /guilds/1/channels" => Said::ok(json!([
            { "id": "5", "name": "talk", "type": 0, "parent_id": "4", "position": 1, "topic": "all" },
            { "id": "4", "name": "Rooms", "type": 4, "position": 0 },
            { "id": "6", "name": "loose", "type": 0, "parent_id": null, "position": 2 },
        ])),
        "GET /channels/5" => {
            Said::ok(json!({ "id": "5", "name": "talk", "type": 0, "topic": "all" }))
        }
        "GET /guilds/1/roles" => Said::ok(
            json!([{ "id": "1", "name": "@everyone", "position": 0 }, { "id": "7", "name": "mod", "position": 3 }]),
        ),
        "GET /guilds/1/members/9" => Said::ok(
            json!({ "user": { "id": "9", "username": "ada" }, "nick": "A", "roles": ["7"] }),
        ),
        "GET /guilds/1/members/search" => {
            Said::ok(json!([{ "user": { "id": "9", "username": "ada" }, "roles": [] }]))
        }
        "GET /channels/5/messages" => Said::ok(json!([message("11")])),
        "GET /channels/5/messages/pins" => Said::ok(
            json!({ "items": [{ "pinned_at": "x", "message": message("12") }], "has_more": false }),
        ),
        "POST /channels/5/threads" => {
            Said::status(201, json!({ "id": "20", "name": "ideas", "type": 11 }))
        }
        "POST /channels/5/messages/11/threads" => {
            Said::status(201, json!({ "id": "11", "name": "ideas" }))
        }
        _ => Said::status(204, Value::Null),
    }
}

#[test]
fn e149_every_action_asks_what_the_interface_knows() {
    let double = bot(MEMBERS | CONTENT, of_a_server);
    let bench = bench(&double, json!({}));
    let admin = |args: Value| bench.run("discord_admin", &args);
    assert_eq!(
        admin(json!({ "action": "list_guilds" })),
        json!({ "guilds": [{ "id": "1", "name": "Hats", "owner": false }], "count": 1 })
    );
    assert_eq!(
        admin(json!({ "action": "server_info", "guild_id": "1" }))["approximate_member_count"],
        4
    );
    let channels = admin(json!({ "action": "list_channels", "guild_id": "1" }));
    assert_eq!(
        (&channels["total_channels"], &channels["channel_groups"][1]["category"]["name"]),
        (&json!(2), &json!("Rooms"))
    );
    assert_eq!(channels["channel_groups"][1]["channels"][0]["topic"], "all");
    assert_eq!(admin(json!({ "action": "channel_info", "channel_id": "5" }))["name"], "talk");
    assert_eq!(
        admin(json!({ "action": "list_roles", "guild_id": "1" }))["roles"][0]["name"],
        "mod"
    );
    assert_eq!(
        admin(json!({ "action": "member_info", "guild_id": "1", "user_id": "9" }))["nickname"],
        "A"
    );
    let pins = admin(json!({ "action": "list_pins", "channel_id": "5" }));
    assert_eq!(pins["pinned_messages"][0]["id"], "12");
    for action in ["pin_message", "unpin_message", "delete_message"] {
        let done = admin(json!({ "action": action, "channel_id": "5", "message_id": "11" }));
        assert_eq!(done["success"], true, "{action}: {done}");
    }
    for action in ["add_role", "remove_role"] {
        let done =
            admin(json!({ "action": action, "guild_id": "1", "user_id": "9", "role_id": "7" }));
        assert_eq!(done["success"], true, "{action}: {done}");
    }
    let people = |args: Value| bench.run("discord", &args);
    assert_eq!(
        people(json!({ "action": "search_members", "guild_id": "1", "query": "a & b" }))["members"]
            [0]["user_id"],
        "9"
    );
    let messages = people(
        json!({ "action": "fetch_messages", "channel_id": "5", "limit": 3, "before": "99" }),
    );
    assert_eq!(
        messages["messages"][0],
        json!({ "id": "11", "content": "hi",
        "author": { "id": "9", "username": "ada", "bot": false }, "timestamp": "2026-01-01T00:00:00Z",
        "edited_timestamp": null, "attachments": [{ "filename": "a.png", "size": 4, "url": "https://cdn/x" }],
        "reactions": [{ "emoji": "👍", "count": 2 }], "pinned": false })
    );
    assert!(messages.get("note").is_none());
    let thread = people(json!({ "action": "create_thread", "channel_id": "5", "name": "ideas" }));
    assert_eq!(thread, json!({ "success": true, "thread_id": "20", "name": "ideas" }));
    people(
        json!({ "action": "create_thread", "channel_id": "5", "message_id": "11", "name": "ideas", "auto_archive_duration": 60 }),
    );
}

#[test]
fn e149_without_an_intent_actions_are_hidden_and_contents_explained() {
    let double = bot(0, |_| Said::ok(json!([message("11")])));
    let bench = bench(&double, json!({}));
    let tool = bench.tool("discord");
    let run = |args: Value| {
        let args = petasos_contract::Args::try_from(args).unwrap();
        let output =
            bench.runtime.block_on(petasos_testkit::call(&*tool, args, &bench.cx)).unwrap();
        let petasos_contract::ToolOutput::Text(text) = output else { panic!() };
        serde_json::from_str::<Value>(&text).unwrap()
    };
    assert_eq!(tool.schema_patch(&BTreeSet::default()).unwrap(), Patch::Keep);
    let refused = run(json!({ "action": "search_members", "guild_id": "1", "query": "a" }));
    assert_eq!(refused["error_type"], "unsupported", "{refused}");
    let read = run(json!({ "action": "fetch_messages", "channel_id": "5" }));
    assert!(read["note"].as_str().unwrap().contains("Message Content Intent"), "{read}");
    let Patch::Merge(changes) = tool.schema_patch(&BTreeSet::default()).unwrap() else { panic!() };
    let actions = &changes["parameters"]["properties"]["action"]["enum"];
    assert_eq!(*actions, json!(["fetch_messages", "create_thread"]));
    assert_eq!(double.lines(), ["GET /applications/@me", "GET /channels/5/messages"]);
}

#[test]
fn e149_the_allow_list_holds_and_refusals_say_what_to_do() {
    let double = bot(MEMBERS, |seen| match seen.path.as_str() {
        "/guilds/1/roles" => {
            Said::status(404, json!({ "message": "Unknown Guild", "code": 10004 }))
        }
        _ => Said::status(403, json!({ "message": "Missing Permissions", "code": 50013 })),
    });
    let bench = bench(
        &double,
        json!({ "discord": { "server_actions": ["list_roles", "add_role", "pin_message"] } }),
    );
    let admin = |args: Value| bench.run("discord_admin", &args);
    let blocked = admin(json!({ "action": "list_guilds" }));
    assert_eq!(blocked["error_type"], "blocked_policy", "{blocked}");
    for (args, advice) in [
        (
            json!({ "action": "add_role", "guild_id": "1", "user_id": "2", "role_id": "3" }),
            "Manage Roles",
        ),
        (json!({ "action": "pin_message", "channel_id": "1", "message_id": "2" }), "Pin Messages"),
    ] {
        let refused = admin(args);
        assert_eq!(refused["error_type"], "denied");
        assert!(refused["error"].as_str().unwrap().contains(advice), "{refused}");
    }
    assert_eq!(
        admin(json!({ "action": "list_roles", "guild_id": "1" }))["error_type"],
        "not_found"
    );
    for bad in [
        json!({ "action": "list_roles", "guild_id": "../users/@me" }),
        json!({ "action": "list_roles" }),
        json!({ "action": "ban" }),
    ] {
        assert_eq!(admin(bad.clone())["error_type"], "bad_argument", "{bad}");
    }
}

#[test]
fn e149_a_short_pause_is_waited_for_once_and_a_long_one_is_told() {
    let tries = AtomicU32::new(0);
    let double = bot(CONTENT, move |seen| {
        let wait = if seen.path.starts_with("/channels/5") { "0.2" } else { "60" };
        match tries.fetch_add(1, Ordering::SeqCst) {
            0 | 2 => Said {
                status: 429,
                headers: vec![("retry-after", wait.to_owned())],
                body: json!({ "message": "slow down" }),
            },
            _ => Said::ok(json!([])),
        }
    });
    let bench = bench(&double, json!({}));
    assert_eq!(
        bench.run("discord", &json!({ "action": "fetch_messages", "channel_id": "5" }))["count"],
        0
    );
    let limited = bench.run("discord", &json!({ "action": "fetch_messages", "channel_id": "6" }));
    assert_eq!(
        (&limited["error_type"], &limited["retry_after_s"]),
        (&json!("rate_limited"), &json!(60)),
        "{limited}"
    );
    let asked = double.lines().iter().filter(|line| line.contains("/messages")).count();
    assert_eq!(asked, 3, "a long pause is not waited for");
}

#[test]
fn what_others_would_see_is_said_before() {
    let bench = Bench::set_up(&json!({}), &[("DISCORD_BOT_TOKEN", "t")]);
    let effects =
        |tool: &str, args: Value| bench.effects(tool, &args).iter().cloned().collect::<Vec<_>>();
    let reach = Effect::Reach("discord.com".to_owned());
    let sends = |target: &str| Effect::Send { target: target.to_owned() };
    assert_eq!(
        effects("discord", json!({ "action": "fetch_messages", "channel_id": "5" })),
        std::slice::from_ref(&reach)
    );
    let thread =
        effects("discord", json!({ "action": "create_thread", "channel_id": "5", "name": "x" }));
    assert_eq!(thread, [reach.clone(), sends("discord:5")]);
    let delete = json!({ "action": "delete_message", "channel_id": "5", "message_id": "6" });
    assert_eq!(effects("discord_admin", delete), [reach, sends("discord:delete_message:5/6")]);
}

/// E19 8: whoever the vendor names gets neither the key nor the request.
#[test]
fn a_redirect_to_a_stranger_is_not_followed() {
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let place = format!("http://{}/x", stranger.local_addr().unwrap());
    let double = bot(CONTENT, move |_| Said {
        status: 307,
        headers: vec![("location", place.clone())],
        body: Value::Null,
    });
    let bench = bench(&double, json!({}));
    let lost = bench.run("discord", &json!({ "action": "fetch_messages", "channel_id": "5" }));
    assert_eq!((&lost["error_type"], &lost["status"]), (&json!("upstream"), &json!(307)), "{lost}");
    assert!(stranger.accept().is_err(), "nobody was asked");
}
