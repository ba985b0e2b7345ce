//! The toolsets that exist by name, as data.
//!
//! A tool names its own toolset, so a new tool is never added here: this table holds what no tool
//! can say of itself (composites, bundles, names of tools that live in other crates). A test holds
//! it against `tests/data/toolsets.yaml`.

use super::{Kind, ToolsetDef};

/// The bundle that every surface inherits.
#[rustfmt::skip]
pub static CORE: &[&str] = &[
    "web_search", "web_extract", "terminal", "process", "read_terminal", "close_terminal",
    "read_file", "write_file", "patch", "search_files", "vision_analyze", "image_generate",
    "skills_list", "skill_view", "skill_manage", "browser_navigate", "browser_snapshot",
    "browser_click", "browser_type", "browser_scroll", "browser_back", "browser_press",
    "browser_get_images", "browser_vision", "browser_console", "browser_cdp", "browser_dialog",
    "text_to_speech", "todo", "memory", "session_search", "clarify", "execute_code",
    "delegate_task", "cronjob", "ha_list_entities", "ha_get_state", "ha_list_services",
    "ha_call_service", "kanban_show", "kanban_list", "kanban_complete", "kanban_block",
    "kanban_heartbeat", "kanban_comment", "kanban_create", "kanban_link", "kanban_unblock",
    "kanban_attach", "kanban_attach_url", "kanban_attachments", "computer_use",
];

const LEAF: ToolsetDef = ToolsetDef {
    name: "",
    description: "",
    kind: Kind::Leaf,
    tools: &[],
    includes: &[],
    default_off: false,
    configurable: false,
    only_platforms: &[],
};
const BUNDLE: ToolsetDef = ToolsetDef { kind: Kind::Bundle, ..LEAF };

/// Every toolset that has a name of its own.
#[rustfmt::skip]
pub static TOOLSETS: &[ToolsetDef] = &[
    ToolsetDef { name: "web", description: "Search the web and read pages.",
        tools: &["web_search", "web_extract"], configurable: true, ..LEAF },
    ToolsetDef { name: "search", description: "Search the web without page extraction.",
        tools: &["web_search"], ..LEAF },
    ToolsetDef { name: "x_search", description: "Search X posts through xAI; off until asked for or until xAI credentials exist.",
        tools: &["x_search"], default_off: true, configurable: true, ..LEAF },
    ToolsetDef { name: "vision", description: "Look at images.",
        tools: &["vision_analyze"], configurable: true, ..LEAF },
    ToolsetDef { name: "video", description: "Look at videos; opt-in.",
        tools: &["video_analyze"], default_off: true, configurable: true, ..LEAF },
    ToolsetDef { name: "image_gen", description: "Create or edit images.",
        tools: &["image_generate"], configurable: true, ..LEAF },
    ToolsetDef { name: "video_gen", description: "Create, edit or extend videos; opt-in.",
        tools: &["video_generate", "xai_video_edit", "xai_video_extend"], default_off: true, configurable: true, ..LEAF },
    ToolsetDef { name: "computer_use", description: "Control desktop applications in the background through an external driver.",
        tools: &["computer_use"], configurable: true, ..LEAF },
    ToolsetDef { name: "terminal", description: "Run shell commands and manage background processes.",
        tools: &["terminal", "process"], configurable: true, ..LEAF },
    ToolsetDef { name: "skills", description: "Find, load and maintain skill documents.",
        tools: &["skills_list", "skill_view", "skill_manage"], configurable: true, ..LEAF },
    ToolsetDef { name: "browser", description: "Drive a browser; also carries web_search so the model can find addresses.",
        tools: &[
            "browser_navigate", "browser_snapshot", "browser_click", "browser_type",
            "browser_scroll", "browser_back", "browser_press", "browser_get_images",
            "browser_vision", "browser_console", "browser_cdp", "browser_dialog", "web_search",
        ], configurable: true, ..LEAF },
    ToolsetDef { name: "cronjob", description: "Manage scheduled jobs.",
        tools: &["cronjob"], configurable: true, ..LEAF },
    ToolsetDef { name: "file", description: "Read, write, patch and search files.",
        tools: &["read_file", "write_file", "patch", "search_files"], configurable: true, ..LEAF },
    ToolsetDef { name: "tts", description: "Turn text into speech.",
        tools: &["text_to_speech"], configurable: true, ..LEAF },
    ToolsetDef { name: "todo", description: "Keep a task list for the session.",
        tools: &["todo"], configurable: true, ..LEAF },
    ToolsetDef { name: "memory", description: "Keep durable notes and a user profile.",
        tools: &["memory"], configurable: true, ..LEAF },
    ToolsetDef { name: "context_engine", description: "Empty placeholder filled at run time by the active context engine's own tools.",
        configurable: true, ..LEAF },
    ToolsetDef { name: "session_search", description: "Search stored conversations.",
        tools: &["session_search"], configurable: true, ..LEAF },
    ToolsetDef { name: "project", description: "Manage desktop workspaces; enabled only by the desktop gateway.",
        tools: &["project_list", "project_create", "project_switch"], ..LEAF },
    ToolsetDef { name: "clarify", description: "Ask the user questions.",
        tools: &["clarify"], configurable: true, ..LEAF },
    ToolsetDef { name: "code_execution", description: "Run scripts that call tools over RPC.",
        tools: &["execute_code"], configurable: true, ..LEAF },
    ToolsetDef { name: "delegation", description: "Start sub-agents.",
        tools: &["delegate_task"], configurable: true, ..LEAF },
    ToolsetDef { name: "homeassistant", description: "Observe and control a Home Assistant installation.",
        tools: &[
            "ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service",
        ], default_off: true, configurable: true, ..LEAF },
    ToolsetDef { name: "kanban", description: "Multi-agent task board; force-added for dispatcher-spawned workers.",
        tools: &[
            "kanban_show", "kanban_list", "kanban_complete", "kanban_block", "kanban_heartbeat",
            "kanban_comment", "kanban_create", "kanban_link", "kanban_unblock", "kanban_attach",
            "kanban_attach_url", "kanban_attachments",
        ], ..LEAF },
    ToolsetDef { name: "discord", description: "Take part in Discord servers.",
        tools: &["discord"], default_off: true, configurable: true, only_platforms: &["discord"], ..LEAF },
    ToolsetDef { name: "discord_admin", description: "Administer Discord servers.",
        tools: &["discord_admin"], default_off: true, configurable: true, only_platforms: &["discord"], ..LEAF },
    ToolsetDef { name: "yuanbao", description: "Yuanbao group, member, message and sticker tools.",
        tools: &[
            "yb_query_group_info", "yb_query_group_members", "yb_send_dm", "yb_search_sticker",
            "yb_send_sticker",
        ], configurable: true, ..LEAF },
    ToolsetDef { name: "feishu_doc", description: "Read Feishu/Lark documents.",
        tools: &["feishu_doc_read"], ..LEAF },
    ToolsetDef { name: "feishu_drive", description: "Work with Feishu/Lark comments.",
        tools: &[
            "feishu_drive_list_comments", "feishu_drive_list_comment_replies",
            "feishu_drive_reply_comment", "feishu_drive_add_comment",
        ], ..LEAF },
    ToolsetDef { name: "spotify", description: "Control Spotify; provided by a bundled plugin, off until chosen.",
        tools: &[
            "spotify_playback", "spotify_devices", "spotify_queue", "spotify_search",
            "spotify_playlists", "spotify_albums", "spotify_library",
        ], default_off: true, configurable: true, ..LEAF },
    ToolsetDef { name: "debugging", description: "Shell plus web and files for troubleshooting.",
        kind: Kind::Composite, tools: &["terminal", "process"], includes: &["web", "file"], ..LEAF },
    ToolsetDef { name: "safe", description: "No shell and no files: web, vision and image creation only.",
        kind: Kind::Composite, includes: &["web", "vision", "image_gen"], ..LEAF },
    ToolsetDef { name: "coding", description: "Posture set for coding sessions; re-lists shared tools without owning them.",
        kind: Kind::Posture, tools: &[
            "web_search", "web_extract", "terminal", "process", "read_terminal",
            "close_terminal", "read_file", "write_file", "patch", "search_files",
            "vision_analyze", "skills_list", "skill_view", "skill_manage", "browser_navigate",
            "browser_snapshot", "browser_click", "browser_type", "browser_scroll",
            "browser_back", "browser_press", "browser_get_images", "browser_vision",
            "browser_console", "browser_cdp", "browser_dialog", "todo", "memory",
            "session_search", "clarify", "execute_code", "delegate_task",
        ], ..LEAF },
    ToolsetDef { name: "hermes-acp", description: "Editor sessions: coding tools without messaging, audio or question UI.",
        kind: Kind::Platform, tools: &[
            "web_search", "web_extract", "terminal", "process", "read_file", "write_file",
            "patch", "search_files", "vision_analyze", "skills_list", "skill_view",
            "skill_manage", "browser_navigate", "browser_snapshot", "browser_click",
            "browser_type", "browser_scroll", "browser_back", "browser_press",
            "browser_get_images", "browser_vision", "browser_console", "browser_cdp",
            "browser_dialog", "todo", "memory", "session_search", "execute_code",
            "delegate_task",
        ], ..LEAF },
    ToolsetDef { name: "hermes-api-server", description: "HTTP API sessions: full agent without interactive UI tools.",
        kind: Kind::Platform, tools: &[
            "web_search", "web_extract", "terminal", "process", "read_file", "write_file",
            "patch", "search_files", "vision_analyze", "image_generate", "skills_list",
            "skill_view", "skill_manage", "browser_navigate", "browser_snapshot",
            "browser_click", "browser_type", "browser_scroll", "browser_back", "browser_press",
            "browser_get_images", "browser_vision", "browser_console", "browser_cdp",
            "browser_dialog", "todo", "memory", "session_search", "execute_code",
            "delegate_task", "cronjob", "ha_list_entities", "ha_get_state", "ha_list_services",
            "ha_call_service",
        ], ..LEAF },
    ToolsetDef { name: "hermes-cli", description: "Interactive terminal sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-cron", description: "Scheduled jobs.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-telegram", description: "Telegram sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-discord", description: "Discord sessions, with Discord tools added.",
        tools: &["discord", "discord_admin"], ..BUNDLE },
    ToolsetDef { name: "hermes-whatsapp", description: "WhatsApp sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-slack", description: "Slack sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-signal", description: "Signal sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-bluebubbles", description: "iMessage sessions through BlueBubbles.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-homeassistant", description: "Home Assistant event sessions (no tools beyond core).",
        ..BUNDLE },
    ToolsetDef { name: "hermes-email", description: "Email sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-mattermost", description: "Mattermost sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-matrix", description: "Matrix sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-dingtalk", description: "DingTalk sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-feishu", description: "Feishu/Lark sessions, with document tools added.",
        tools: &[
            "feishu_doc_read", "feishu_drive_list_comments",
            "feishu_drive_list_comment_replies", "feishu_drive_reply_comment",
            "feishu_drive_add_comment",
        ], ..BUNDLE },
    ToolsetDef { name: "hermes-weixin", description: "Weixin sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-qqbot", description: "QQ bot sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-wecom", description: "WeCom sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-wecom-callback", description: "WeCom callback-application sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-yuanbao", description: "Yuanbao sessions, with Yuanbao tools added.",
        tools: &[
            "yb_query_group_info", "yb_query_group_members", "yb_send_dm", "yb_search_sticker",
            "yb_send_sticker",
        ], ..BUNDLE },
    ToolsetDef { name: "hermes-sms", description: "SMS sessions.",
        ..BUNDLE },
    ToolsetDef { name: "hermes-webhook", description: "Webhook-triggered sessions: deliberately tiny because the input is untrusted third-party text.",
        kind: Kind::Platform, tools: &["web_search", "web_extract", "vision_analyze", "clarify"], ..LEAF },
    ToolsetDef { name: "hermes-gateway", description: "Union of every messaging platform bundle.",
        kind: Kind::Platform, includes: &[
            "hermes-telegram", "hermes-discord", "hermes-whatsapp", "hermes-slack",
            "hermes-signal", "hermes-bluebubbles", "hermes-homeassistant", "hermes-email",
            "hermes-sms", "hermes-mattermost", "hermes-matrix", "hermes-dingtalk",
            "hermes-feishu", "hermes-wecom", "hermes-wecom-callback", "hermes-weixin",
            "hermes-qqbot", "hermes-webhook", "hermes-yuanbao",
        ], ..LEAF },
    ToolsetDef { name: "moa", description: "Several models answer, one merges.",
        tools: &["mixture_of_agents"], default_off: true, configurable: true, ..LEAF },
    ToolsetDef { name: "messaging", description: "Send messages to connected platforms.",
        tools: &["send_message"], configurable: true, ..LEAF },
    ToolsetDef { name: "rl", description: "Reinforcement-learning training control.",
        tools: &[
            "rl_list_environments", "rl_select_environment", "rl_get_current_config",
            "rl_edit_config", "rl_start_training", "rl_check_status", "rl_stop_training",
            "rl_get_results", "rl_list_runs", "rl_test_inference",
        ], default_off: true, configurable: true, ..LEAF },
];

/// Older names of tool lists, still accepted wherever a toolset is named.
#[rustfmt::skip]
pub static LEGACY: &[(&str, &[&str])] = &[
    ("web_tools", &["web_search", "web_extract"]),
    ("terminal_tools", &["terminal"]),
    ("vision_tools", &["vision_analyze"]),
    ("image_tools", &["image_generate"]),
    ("skills_tools", &["skills_list", "skill_view", "skill_manage"]),
    ("browser_tools", &[
        "browser_navigate", "browser_snapshot", "browser_click", "browser_type",
        "browser_scroll", "browser_back", "browser_press", "browser_get_images",
        "browser_vision", "browser_console",
    ]),
    ("cronjob_tools", &["cronjob"]),
    ("file_tools", &["read_file", "write_file", "patch", "search_files"]),
    ("tts_tools", &["text_to_speech"]),
    ("moa_tools", &["mixture_of_agents"]),
    ("rl_tools", &[
        "rl_list_environments", "rl_select_environment", "rl_get_current_config",
        "rl_edit_config", "rl_start_training", "rl_check_status", "rl_stop_training",
        "rl_get_results", "rl_list_runs", "rl_test_inference",
    ]),
];

/// The bundle that a platform has unless its configuration names others.
#[rustfmt::skip]
pub static PLATFORMS: &[(&str, &str)] = &[
    ("cli", "hermes-cli"),
    ("telegram", "hermes-telegram"),
    ("discord", "hermes-discord"),
    ("slack", "hermes-slack"),
    ("whatsapp", "hermes-whatsapp"),
    ("whatsapp_cloud", "hermes-whatsapp"),
    ("signal", "hermes-signal"),
    ("bluebubbles", "hermes-bluebubbles"),
    ("email", "hermes-email"),
    ("homeassistant", "hermes-homeassistant"),
    ("mattermost", "hermes-mattermost"),
    ("matrix", "hermes-matrix"),
    ("dingtalk", "hermes-dingtalk"),
    ("feishu", "hermes-feishu"),
    ("wecom", "hermes-wecom"),
    ("wecom_callback", "hermes-wecom-callback"),
    ("weixin", "hermes-weixin"),
    ("qqbot", "hermes-qqbot"),
    ("yuanbao", "hermes-yuanbao"),
    ("webhook", "hermes-webhook"),
    ("api_server", "hermes-api-server"),
    ("cron", "hermes-cron"),
];

/// Tools that a subagent never has.
#[rustfmt::skip]
pub static SUBAGENT_BLOCKED: &[&str] = &[
    "delegate_task", "clarify", "memory", "send_message", "execute_code", "cronjob",
];

/// Tools that a script run by `execute_code` may call.
#[rustfmt::skip]
pub static CODE_TOOLS: &[&str] = &[
    "web_search", "web_extract", "read_file", "write_file", "search_files", "patch", "terminal",
];
