//! What the settings say about the gateway and its platforms, read once into types.

use std::collections::BTreeSet;
use std::time::Duration;

use petasos_contract::Settings;
use serde_json::Value;

use crate::platform::PlatformDef;

/// What a message does while a turn runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BusyMode {
    /// The turn is stopped, and the message is next.
    #[default]
    Interrupt,
    /// It waits.
    Queue,
    /// The running turn gets it.
    Steer,
    /// It waits, and joins other words of the same sender.
    Collect,
}

impl BusyMode {
    /// The mode of this word.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "interrupt" => Some(Self::Interrupt),
            "queue" => Some(Self::Queue),
            "steer" => Some(Self::Steer),
            "collect" => Some(Self::Collect),
            _ => None,
        }
    }

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Collect => "collect",
        }
    }
}

/// When a chat begins a new session by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResetRule {
    /// After so many minutes of silence.
    pub idle_minutes: Option<u64>,
    /// At this hour of the day, in UTC.
    pub at_hour: Option<u32>,
}

impl ResetRule {
    /// The rule of the section `session_reset`.
    fn of(settings: &Settings) -> Result<Self, String> {
        let mode = settings.text("session_reset.mode").unwrap_or("none");
        let number = |key: &str, usual| settings.get(key).and_then(Value::as_u64).unwrap_or(usual);
        let idle = Some(number("session_reset.idle_minutes", 1440));
        let hour = u32::try_from(number("session_reset.at_hour", 4)).ok().filter(|hour| *hour < 24);
        let hour = hour.ok_or("`session_reset.at_hour` is an hour from 0 to 23")?;
        match mode {
            "none" => Ok(Self::default()),
            "idle" => Ok(Self { idle_minutes: idle, at_hour: None }),
            "daily" => Ok(Self { idle_minutes: None, at_hour: Some(hour) }),
            "both" => Ok(Self { idle_minutes: idle, at_hour: Some(hour) }),
            other => {
                Err(format!("`session_reset.mode` is `{other}`: write none, idle, daily or both"))
            }
        }
    }

    /// Which rule fires for a chat that was used then, if any, in words.
    pub fn fires(self, used_ms: i64, now_ms: i64) -> Option<String> {
        let idle = self.idle_minutes.filter(|minutes| {
            let limit = i64::try_from(*minutes).unwrap_or(i64::MAX).saturating_mul(60_000);
            *minutes > 0 && now_ms.saturating_sub(used_ms) >= limit
        });
        if let Some(minutes) = idle {
            return Some(format!("{minutes} minutes of silence"));
        }
        let hour = i64::from(self.at_hour?);
        let day = |ms: i64| (ms - hour * 3_600_000).div_euclid(86_400_000);
        (day(now_ms) > day(used_ms)).then(|| format!("the daily reset at {hour}:00 UTC"))
    }
}

/// Bots that may write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AllowBots {
    /// None.
    #[default]
    No,
    /// Those that name us.
    Mentions,
    /// All.
    All,
}

/// What a stranger in a direct chat gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strangers {
    /// A code that the owner can confirm.
    Pair,
    /// Nothing.
    Ignore,
}

/// What is said about one platform.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct PlatformOptions {
    /// Whether it is switched off although it is configured.
    pub off: bool,
    /// Everybody may write.
    pub allow_all: bool,
    /// These may write; `*` is everybody.
    pub allowed: BTreeSet<String>,
    /// These may write in groups.
    pub group_allowed: BTreeSet<String>,
    /// Everybody may write in these chats.
    pub open_chats: BTreeSet<String>,
    /// Bots that may write.
    pub bots: AllowBots,
    /// Roles that may write.
    pub roles: BTreeSet<String>,
    /// What strangers get.
    pub strangers: Strangers,
    /// Administrators in direct chats; everybody when empty.
    pub admins: BTreeSet<String>,
    /// Administrators in groups; everybody when empty.
    pub group_admins: BTreeSet<String>,
    /// Commands that others may run.
    pub user_commands: BTreeSet<String>,
    /// Whether a group message must name us.
    pub mention: bool,
    /// Chats where nobody has to.
    pub free_chats: BTreeSet<String>,
    /// Chats whose messages are not read.
    pub ignored_chats: BTreeSet<String>,
    /// Only these chats, when not empty.
    pub only_chats: BTreeSet<String>,
    /// What a message does during a turn.
    pub busy: BusyMode,
    /// Only answers and questions are sent.
    pub quiet: bool,
}

impl PlatformOptions {
    /// Whether anybody at all could be let in, people who are paired aside.
    pub fn has_list(&self) -> bool {
        self.allow_all
            || !self.allowed.is_empty()
            || !self.group_allowed.is_empty()
            || !self.open_chats.is_empty()
            || !self.roles.is_empty()
    }
}

/// What is said about the gateway.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct GatewayOptions {
    /// Everybody may write, everywhere.
    pub allow_all: bool,
    /// These may write, everywhere.
    pub allowed: BTreeSet<String>,
    /// Owns everything: `platform:user`.
    pub owner: Option<String>,
    /// Whether people in a group have sessions of their own.
    pub group_per_user: bool,
    /// Whether people in a thread have sessions of their own.
    pub thread_per_user: bool,
    /// When a chat begins a new session.
    pub reset: ResetRule,
    /// So many messages wait for a session.
    pub queue_max: u32,
    /// So many turns run at once.
    pub turns_max: usize,
    /// How old a message may be and still run.
    pub stale_after: Duration,
    /// How long running turns get when the gateway stops.
    pub drain: Duration,
    /// How long answers are tried.
    pub delivery_age: Duration,
    /// More parts than this become a file.
    pub parts_max: usize,
    /// Folders from which files may be sent, beside the workspace and the caches.
    pub media_folders: Vec<String>,
    /// Who may answer an approval.
    pub approvers: Approvers,
    /// So many undone messages stop the reading.
    pub inbox_max: u64,
    /// How large a file may be that is taken.
    pub file_bytes_max: u64,
    /// What becomes of messages that are too old.
    pub stale: StalePolicy,
    /// A turn in which nothing happens for so long ends; never when absent.
    pub turn_idle: Option<Duration>,
    /// The chat is told when nothing has happened for so long.
    pub turn_warning: Option<Duration>,
    /// How often a long turn gives a sign of life.
    pub turn_alive: Option<Duration>,
    /// Whether a turn that a crash cut off between two calls goes on by itself.
    pub resumes: bool,
    /// It does when its message is younger than this.
    pub resume_within: Duration,
    /// Whether every chat shares the notes of the home.
    pub shared_notes: bool,
}

/// What becomes of a message that waited too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StalePolicy {
    /// Its sender is asked.
    #[default]
    Ask,
    /// It runs.
    Run,
    /// It does not, and its sender is told.
    Skip,
}

impl StalePolicy {
    fn of(settings: &Settings) -> Result<Self, String> {
        match settings.text("gateway.stale_policy") {
            None | Some("ask") => Ok(Self::Ask),
            Some("run") => Ok(Self::Run),
            Some("skip") => Ok(Self::Skip),
            Some(other) => {
                Err(format!("`gateway.stale_policy` is `{other}`: write ask, run or skip"))
            }
        }
    }
}

/// Who may answer an approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approvers {
    /// Whoever began the turn, and administrators.
    #[default]
    RequesterOrAdmin,
    /// Whoever began the turn.
    Requester,
    /// Administrators.
    Admins,
    /// Everybody who may write.
    AnyAllowed,
}

impl GatewayOptions {
    /// Reads the settings; says what cannot be used.
    pub fn of(settings: &Settings) -> Result<Self, String> {
        let number =
            |key: &str, usual: u64| settings.get(key).and_then(Value::as_u64).unwrap_or(usual);
        let flag =
            |key: &str, usual: bool| settings.get(key).and_then(Value::as_bool).unwrap_or(usual);
        let per_user = |name: &str, usual| flag(&format!("gateway.{name}"), flag(name, usual));
        let approvers = match settings.text("approvals.chat_approvers") {
            None | Some("requester_or_admin") => Approvers::RequesterOrAdmin,
            Some("requester") => Approvers::Requester,
            Some("admins") => Approvers::Admins,
            Some("any_allowed") => Approvers::AnyAllowed,
            Some(other) => {
                return Err(format!(
                    "`approvals.chat_approvers` is `{other}`: write requester_or_admin, requester, \
                     admins or any_allowed"
                ));
            }
        };
        let wait = |key: &str, usual: u64| {
            Some(number(key, usual)).filter(|seconds| *seconds > 0).map(Duration::from_secs)
        };
        Ok(Self {
            allow_all: is_on(settings, "GATEWAY_ALLOW_ALL_USERS"),
            allowed: listed(settings, "GATEWAY_ALLOWED_USERS"),
            owner: settings.text("gateway.owner").map(str::to_owned),
            group_per_user: per_user("group_sessions_per_user", true),
            thread_per_user: per_user("thread_sessions_per_user", false),
            reset: ResetRule::of(settings)?,
            queue_max: 32,
            turns_max: usize::try_from(number("gateway.max_concurrent_sessions", 64))
                .unwrap_or(64)
                .max(1),
            stale_after: Duration::from_secs(number("gateway.stale_after_seconds", 21_600)),
            drain: Duration::from_secs(number("agent.restart_drain_timeout", 20)),
            delivery_age: Duration::from_secs(number("gateway.delivery_max_age", 86_400)),
            parts_max: usize::try_from(number("gateway.max_parts", 12)).unwrap_or(12).max(1),
            media_folders: settings.names("gateway.media_delivery_allow_dirs").unwrap_or_default(),
            approvers,
            inbox_max: number("gateway.inbox_limit", 10_000),
            file_bytes_max: number("gateway.max_inbound_media_bytes", 134_217_728),
            stale: StalePolicy::of(settings)?,
            turn_idle: wait("agent.gateway_timeout", 1800),
            turn_warning: wait("agent.gateway_timeout_warning", 900),
            turn_alive: wait("agent.gateway_notify_interval", 180),
            resumes: match settings.text("gateway.resume") {
                None | Some("auto") => true,
                Some("ask" | "off") => false,
                Some(other) => {
                    return Err(format!("`gateway.resume` is `{other}`: write auto, ask or off"));
                }
            },
            resume_within: Duration::from_secs(number(
                "agent.gateway_auto_continue_freshness",
                3600,
            )),
            shared_notes: flag("gateway.shared_memory", false),
        })
    }

    /// What is said about a platform. An entry of a list that cannot be an identity there is an
    /// error: it would let nobody in, in silence.
    pub fn platform(settings: &Settings, def: &PlatformDef) -> Result<PlatformOptions, String> {
        let name = def.name;
        let upper = Some(def.lists.to_owned()).filter(|lists| !lists.is_empty());
        let upper = upper.unwrap_or_else(|| name.to_uppercase());
        let variable = |suffix: &str| format!("{upper}_{suffix}");
        let at = |key: &str| {
            let full = format!("platforms.{name}.extra.{key}");
            let short = format!("{name}.{key}");
            settings
                .get(&full)
                .or_else(|| settings.get(&format!("platforms.{name}.{key}")))
                .or_else(|| settings.get(&short))
        };
        let ids = |suffix: &str, key: &str| -> Result<BTreeSet<String>, String> {
            let mut found = listed(settings, &variable(suffix));
            found.extend(names(at(key)));
            let checked = found.into_iter().map(|entry| {
                let canonical = if entry == "*" { Some(entry.clone()) } else { (def.canonical)(&entry) };
                canonical.ok_or_else(|| {
                    format!("`{entry}` in {upper}_{suffix} or `{key}` cannot be an identity of {name}: display names never let anybody in")
                })
            });
            checked.collect()
        };
        let plain = |suffix: &str, key: &str| {
            let mut found = listed(settings, &variable(suffix));
            found.extend(names(at(key)));
            found
        };
        let bots = match text_of(settings, &variable("ALLOW_BOTS")).as_deref() {
            Some("mentions") => AllowBots::Mentions,
            Some("all" | "true" | "1") => AllowBots::All,
            _ => AllowBots::No,
        };
        let mention = text_of(settings, &variable("REQUIRE_MENTION"))
            .map(|word| matches!(word.as_str(), "1" | "true" | "yes" | "on"))
            .or_else(|| at("require_mention").and_then(Value::as_bool))
            .unwrap_or(def.mention);
        let busy = settings.text("display.busy_input_mode").and_then(BusyMode::named);
        let mut options = PlatformOptions {
            off: settings.get(&format!("platforms.{name}.enabled")).and_then(Value::as_bool)
                == Some(false),
            allow_all: is_on(settings, &variable("ALLOW_ALL_USERS")),
            allowed: ids("ALLOWED_USERS", "allow_from")?,
            group_allowed: ids("GROUP_ALLOWED_USERS", "group_allow_from")?,
            open_chats: plain("GROUP_ALLOWED_CHATS", "group_allowed_chats"),
            bots,
            roles: plain("ALLOWED_ROLES", "allowed_roles"),
            strangers: Strangers::Ignore,
            admins: ids("ADMINS", "allow_admin_from")?,
            group_admins: ids("GROUP_ADMINS", "group_allow_admin_from")?,
            user_commands: plain("USER_COMMANDS", "user_allowed_commands"),
            mention,
            free_chats: plain("FREE_RESPONSE_CHATS", "free_response_chats"),
            ignored_chats: plain("IGNORED_CHATS", "ignored_chats"),
            only_chats: plain("ALLOWED_CHATS", "allowed_chats"),
            busy: busy.unwrap_or_default(),
            quiet: settings.get("display.quiet").and_then(Value::as_bool).unwrap_or(false),
        };
        let said = at("unauthorized_dm_behavior")
            .and_then(Value::as_str)
            .or_else(|| settings.text("unauthorized_dm_behavior"));
        let silent = options.has_list() || name == "email" || def.unattended;
        options.strangers = strangers(said, silent)?;
        Ok(options)
    }
}

fn strangers(said: Option<&str>, silent: bool) -> Result<Strangers, String> {
    match said {
        Some("pair") => Ok(Strangers::Pair),
        Some("ignore") => Ok(Strangers::Ignore),
        Some(other) => {
            Err(format!("`unauthorized_dm_behavior` is `{other}`: write pair or ignore"))
        }
        None if silent => Ok(Strangers::Ignore),
        None => Ok(Strangers::Pair),
    }
}

/// The text of a variable, unless it is empty.
pub(crate) fn text_of(settings: &Settings, name: &str) -> Option<String> {
    let text = settings.variable(name)?.value.expose().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn is_on(settings: &Settings, name: &str) -> bool {
    text_of(settings, name)
        .is_some_and(|word| matches!(word.to_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}

fn listed(settings: &Settings, name: &str) -> BTreeSet<String> {
    let text = text_of(settings, name).unwrap_or_default();
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// The entries of a list, or a single one.
pub(crate) fn names(value: Option<&Value>) -> BTreeSet<String> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        Some(Value::Array(many)) => many.iter().filter_map(one).collect(),
        Some(value) => one(value).into_iter().collect(),
        None => BTreeSet::new(),
    }
}
