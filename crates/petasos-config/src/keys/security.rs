//! Keys of the sections that guard something: a project may only make them stricter.

use super::Kind::{Choice, Flag, List, Names, Number, Text};
use super::Stricter::{More, Off, On, Order, Smaller};
use super::{Key, key};

const CRON: &[&str] = &["yes", "allow", "off", "approve", "deny"];

pub(super) static KEYS: &[Key] = &[
    key(
        "approvals.mode",
        Choice(&["off", "smart", "manual"]),
        "\"manual\"",
        "Who judges a dangerous command: a person, a model first, or nobody",
    )
    .tighten(Order(&["off", "smart", "manual"])),
    key("approvals.timeout", Number, "60", "Seconds a question at the terminal stays open")
        .tighten(Smaller),
    key("approvals.gateway_timeout", Number, "300", "Seconds a question over chat stays open")
        .tighten(Smaller),
    key(
        "approvals.chat_approvers",
        Choice(&["requester_or_admin", "requester", "admins", "any_allowed"]),
        "\"requester_or_admin\"",
        "Who may answer a question in a chat",
    ),
    key(
        "approvals.route_to",
        Text,
        "",
        "The chat whose administrators are asked for schedules, webhooks and programs: PLATFORM[:CHAT[:THREAD]]",
    ),
    key(
        "approvals.cron_mode",
        Choice(CRON),
        "\"deny\"",
        "What becomes of a dangerous command in a scheduled run",
    )
    .tighten(Order(CRON)),
    key(
        "approvals.headless_mode",
        Choice(&["approve", "deny"]),
        "\"deny\"",
        "What becomes of a dangerous command when nobody can be asked",
    )
    .tighten(Order(&["approve", "deny"])),
    key(
        "approvals.edits",
        Choice(&["policy", "sensitive", "outside", "each"]),
        "\"policy\"",
        "Which edits are shown and asked about before they are made, on every surface: those that the policy asks about, also those of sensitive files, also those outside the workspace, every one",
    )
    .tighten(Order(&["policy", "sensitive", "outside", "each"])),
    key("approvals.deny", Names, "[]", "Globs of commands that are never run").tighten(More),
    key(
        "approvals.git_push",
        Choice(&["allow", "ask"]),
        "\"allow\"",
        "Whether a plain `git push` is asked about",
    )
    .tighten(Order(&["allow", "ask"])),
    key("approvals.mcp_reload_confirm", Flag, "true", "Ask before MCP servers are reloaded")
        .tighten(On),
    key(
        "approvals.destructive_slash_confirm",
        Flag,
        "true",
        "Ask before `/undo` removes what was said",
    )
    .tighten(On),
    key("security.allow_private_urls", Flag, "false", "Let tools reach private addresses")
        .tighten(Off),
    key(
        "security.private_hosts",
        Names,
        "[]",
        "Private places that tools may reach all the same: a name, host:port, or a block such as 100.64.0.0/10",
    ),
    key(
        "security.taint",
        Choice(&["on", "warn", "off"]),
        "\"on\"",
        "Ask before a conversation that read words from outside sends, remembers or schedules",
    )
    .tighten(Order(&["off", "warn", "on"])),
    key(
        "security.taint_trust",
        Names,
        "[]",
        "Places whose words are trusted: a host, mcp:SERVER, or a folder",
    ),
    key("security.redact_secrets", Flag, "true", "Mask secrets in output, logs and messages")
        .tighten(On),
    key(
        "security.strict_key_scope",
        Flag,
        "false",
        "Never send `OPENAI_API_KEY` to a custom endpoint",
    )
    .tighten(On),
    key(
        "security.keyring",
        Choice(&["off", "auto", "required"]),
        "\"auto\"",
        "Keep keys added by `auth login` in the keyring of the operating system: never, where one is at hand (the file says why not), or nowhere else",
    ),
    key(
        "security.tirith_enabled",
        Flag,
        "true",
        "Show each command to an external scanner first, where one is installed or named",
    )
    .tighten(On),
    key(
        "security.tirith_path",
        Text,
        "",
        "The scanner's program; without it `tirith` is looked for in the home's `bin` and on the search path",
    ),
    key("security.tirith_timeout", Number, "5", "Seconds a scan may take"),
    key(
        "security.tirith_fail_open",
        Flag,
        "true",
        "Let a command pass when a scan fails, instead of asking about it",
    )
    .tighten(Off),
    key(
        "security.website_blocklist",
        super::Kind::Any,
        "",
        "Sites that tools must not open: `enabled`, `domains` (a name stands for everything below it, `*` for one label) and `shared_files`",
    ),
    key("permissions.allow", List, "[]", "Rules for calls that need no question"),
    key("permissions.ask", List, "[]", "Rules for calls that are asked about").tighten(More),
    key("permissions.deny", List, "[]", "Rules for calls that are refused").tighten(More),
];
