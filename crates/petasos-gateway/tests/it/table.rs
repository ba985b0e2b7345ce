//! The facts of the platforms are data: each row says what the published table says, its toolset is
//! there, and every variable that is read stands in the guide.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petasos_agent::LOOP_TOOLS;
use petasos_gateway::PLATFORMS;
use petasos_gateway::access::{Class, may_run};
use petasos_gateway::options::GatewayOptions;
use petasos_gateway::platform::{PlatformDef, Repeats};
use petasos_gateway::render::Unit;
use petasos_runtime::Registry;
use petasos_runtime::toolsets::{is_valid, resolve_toolset};
use serde::Deserialize;
use serde_json::Value;

use crate::world::{Config, settings};

/// Where a row differs from the table on purpose.
const OTHERWISE: &[(&str, &str, &str)] = &[
    ("slack", "limit", "room for what the block adds"),
    ("irc", "limit", "what is left of a line after prefix, command and target"),
    ("mqtt", "limit", "room for the JSON around"),
    ("ntfy", "limit", "room for the title"),
    ("mattermost", "limit", "what the oldest servers take"),
    ("email", "repeats", "the mailbox of what was sent is not looked at: a repeat says so"),
    ("xmpp", "repeats", "not every client honours the identity: a repeat says so"),
    ("wecom", "buttons", "template cards"),
];

#[derive(Deserialize)]
struct Table {
    platforms: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    toolset: String,
    #[serde(default)]
    env: Value,
    message_limit: Value,
    #[serde(default)]
    supports: Value,
    #[serde(default)]
    rate_limits: Value,
    #[serde(default)]
    typing_refresh_s: Option<u64>,
    #[serde(default)]
    typed_prefix: Option<char>,
    idempotent_send: String,
}

fn table() -> Vec<Row> {
    let text = include_str!("../data/platforms.yaml");
    serde_saphyr::from_str::<Table>(text).unwrap().platforms
}

/// What somebody else does: webhooks and the HTTP interface have no lanes.
fn is_ours(row: &Row) -> bool {
    !["webhook", "api_server"].contains(&row.name.as_str())
}

fn differs(def: &PlatformDef, what: &str) -> bool {
    OTHERWISE.iter().any(|(name, fact, _)| *name == def.name && *fact == what)
}

fn agrees(def: &PlatformDef, row: &Row) {
    let name = def.name;
    assert_eq!(def.toolset, row.toolset, "{name}");
    let limit = row.message_limit["value"].as_u64().unwrap_or(0);
    let unit = match row.message_limit["unit"].as_str() {
        Some("utf16") => Unit::Utf16,
        Some("bytes") => Unit::Bytes,
        _ => Unit::Chars,
    };
    assert_eq!(def.form.unit, unit, "{name}");
    let own = def.form.limit as u64;
    assert!(own == limit || (differs(def, "limit") && own < limit), "{name}: {own} of {limit}");
    let repeats = match row.idempotent_send.as_str() {
        "native" => Repeats::Dropped,
        "probe" => Repeats::Looked,
        _ => Repeats::Seen,
    };
    assert!(def.repeats == repeats || differs(def, "repeats"), "{name}: {:?}", def.repeats);
    let can = |what: &str| row.supports[what] == Value::Bool(true);
    assert!(def.buttons == can("buttons") || differs(def, "buttons"), "{name}: buttons");
    assert!(def.edits.is_some() || !can("edit"), "{name}: edits");
    let floor = row.rate_limits["edit_floor_s"].as_f64().unwrap_or(0.0);
    let floor = Duration::from_secs_f64(floor);
    assert!(def.edits.is_none_or(|pause| pause >= floor), "{name}: edits faster than {floor:?}");
    let refresh = row.typing_refresh_s.map(Duration::from_secs);
    assert!(refresh.is_none() || def.typing == refresh, "{name}: {:?}", def.typing);
    assert!(row.typed_prefix.is_none() || def.prefix == row.typed_prefix, "{name}: prefix");
    for variable in row.env["required"].as_array().into_iter().flatten() {
        let variable = variable.as_str().unwrap();
        assert!(def.variables.contains(&variable), "{name} wants {variable}");
    }
}

#[test]
fn s81_every_row_of_the_table_is_a_platform_with_its_facts() {
    let table = table();
    let rows: Vec<&Row> = table.iter().filter(|row| is_ours(row)).collect();
    for row in &rows {
        let def = PLATFORMS.iter().find(|def| def.name == row.name);
        agrees(def.unwrap_or_else(|| unreachable!("no platform is named {}", row.name)), row);
    }
    let named: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let ours = PLATFORMS.iter().map(|def| def.name).filter(|name| *name != "loopback");
    assert_eq!(ours.collect::<BTreeSet<_>>(), named, "and no platform is in no table");
    for (name, fact, why) in OTHERWISE {
        assert!(named.contains(name) && !fact.is_empty() && !why.is_empty());
    }
}

#[test]
fn s81_every_toolset_of_a_platform_exists() {
    let registry = Registry::with_builtin(LOOP_TOOLS, &Arc::default());
    // As the program does it: platforms without tools of their own have the common ones.
    for def in PLATFORMS {
        registry.register_platform(def.name);
    }
    let tools = registry.snapshot();
    for def in PLATFORMS {
        assert!(is_valid(def.toolset, &tools), "{}: {}", def.name, def.toolset);
        let found = resolve_toolset(def.toolset, &tools);
        assert!(!found.tools.is_empty(), "{}: {} is empty", def.name, def.toolset);
    }
}

/// Words in the sources below a folder that look like variables.
fn variables(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            variables(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for word in text.split('"').skip(1).step_by(2) {
            let is_one = PLATFORMS.iter().any(|def| {
                let own = def.name.split('_').next().unwrap().to_uppercase();
                let others = ["HASS_", "TWILIO_", "QQ_"].iter().any(|it| word.starts_with(it));
                word.starts_with(&format!("{own}_")) || others
            });
            let plain =
                word.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit());
            if is_one && plain && !word.ends_with('_') {
                found.insert(word.to_owned());
            }
        }
    }
}

#[test]
fn s81_every_variable_that_a_platform_reads_is_in_the_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    variables(&root.join("src/platforms"), &mut found);
    assert!(found.len() > 50, "{found:?}");
    let guide = std::fs::read_to_string(root.join("../../docs/guides/gateway.md")).unwrap();
    let missing: Vec<&String> = found.iter().filter(|name| !guide.contains(*name)).collect();
    assert!(missing.is_empty(), "not in docs/guides/gateway.md: {missing:?}");
}

/// Commands by their class: G everybody who may write, U those whom a list lets and administrators,
/// A administrators, O the owner.
const CLASSES: &[(char, &[&str])] = &[
    ('G', &["start", "help", "commands", "whoami", "stop", "status", "approve", "deny", "answer"]),
    (
        'U',
        &[
            "new",
            "usage",
            "model",
            "reasoning",
            "personality",
            "busy",
            "retry",
            "undo",
            "compress",
            "title",
            "branch",
            "resume",
            "sessions",
            "queue",
            "steer",
            "background",
            "skills",
            "memory",
            "version",
            "tools",
            "toolsets",
        ],
    ),
    ('A', &["yolo", "sethome", "cron", "platform", "reload-mcp", "rollback", "debug"]),
    ('O', &["restart", "update", "pair"]),
];

#[test]
fn s57_every_command_of_the_table_has_its_class() {
    let settings = settings(Path::new("/nowhere"), &Config::default());
    let none = GatewayOptions::platform(&settings, PLATFORMS[0]).unwrap();
    let mut listed = none.clone();
    for (_, names) in CLASSES {
        listed.user_commands.extend(names.iter().map(|name| (*name).to_owned()));
    }
    for (class, names) in CLASSES {
        for name in *names {
            let may = |who, options| may_run(who, name, options);
            let who = [Class::User, Class::Admin, Class::Owner].map(|who| may(who, &none));
            let expected = match class {
                'G' => [true, true, true],
                'O' => [false, false, true],
                _ => [false, true, true],
            };
            assert_eq!(who, expected, "/{name}");
            // A list of commands for everybody gives none of those that change the house.
            assert_eq!(may(Class::User, &listed), matches!(class, 'G' | 'U'), "/{name}");
        }
    }
}
