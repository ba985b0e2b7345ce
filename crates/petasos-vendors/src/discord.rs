//! Discord servers by a bot's own account: members, messages, threads, roles, pins.

mod told;

use std::time::Duration;

use petasos_contract::{Secret, Settings};
use petasos_net::{Method, Scheme};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fault::VendorError;
use crate::service::{Answer, Sent, Service, variable};
use crate::text::{cut, query};

/// What is said when there is no token.
pub const NEEDS: &str = "needs DISCORD_BOT_TOKEN";

const BASE: &str = "https://discord.com/api/v10";
const BYTES_MAX: usize = 4 << 20;
/// A pause that is waited for once; a longer one is the caller's to wait.
const PAUSE_MAX: u64 = 5;
const MESSAGES_USUAL: u64 = 50;
const MEMBERS_USUAL: u64 = 20;
/// Flags of the application: it may see members, in large servers or in small ones.
const MEMBERS: u64 = 1 << 14 | 1 << 15;
/// It may read what people write.
const CONTENT: u64 = 1 << 18 | 1 << 19;

/// What an action needs to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// `guild_id`.
    Guild,
    /// `channel_id`.
    Channel,
    /// `user_id`.
    User,
    /// `role_id`.
    Role,
    /// `message_id`.
    Message,
    /// `query`.
    Query,
    /// `name`.
    Name,
}

impl Need {
    /// The parameter.
    pub fn parameter(self) -> &'static str {
        match self {
            Self::Guild => "guild_id",
            Self::Channel => "channel_id",
            Self::User => "user_id",
            Self::Role => "role_id",
            Self::Message => "message_id",
            Self::Query => "query",
            Self::Name => "name",
        }
    }
}

/// What a bot can do.
#[derive(Debug)]
pub struct Action {
    /// Its name.
    pub name: &'static str,
    /// What it needs.
    pub needs: &'static [Need],
    /// Whether others see that it was done.
    pub writes: bool,
    /// Whether the bot must be allowed to see members.
    pub members: bool,
    /// What to do when the server forbids it.
    pub advice: &'static str,
}

const SEE: &str = "invite the bot to the server with the permission View Channels";
const ROLES: &str =
    "give the bot the permission Manage Roles, and its own role a place above that one";

const fn action(name: &'static str, needs: &'static [Need], advice: &'static str) -> Action {
    Action { name, needs, writes: false, members: false, advice }
}

/// What the tool `discord` can do.
pub static PEOPLE: &[Action] = &[
    Action { members: true, ..action("search_members", &[Need::Guild, Need::Query], SEE) },
    action(
        "fetch_messages",
        &[Need::Channel],
        "give the bot the permissions View Channel and Read Message History there",
    ),
    Action {
        writes: true,
        ..action(
            "create_thread",
            &[Need::Channel, Need::Name],
            "give the bot the permission Create Public Threads there",
        )
    },
];

/// What the tool `discord_admin` can do.
pub static ADMIN: &[Action] = &[
    action("list_guilds", &[], SEE),
    action("server_info", &[Need::Guild], SEE),
    action("list_channels", &[Need::Guild], SEE),
    action("channel_info", &[Need::Channel], SEE),
    action("list_roles", &[Need::Guild], SEE),
    Action { members: true, ..action("member_info", &[Need::Guild, Need::User], SEE) },
    action("list_pins", &[Need::Channel], "give the bot the permission Read Message History there"),
    Action { writes: true, ..action("pin_message", &[Need::Channel, Need::Message], PINS) },
    Action { writes: true, ..action("unpin_message", &[Need::Channel, Need::Message], PINS) },
    Action {
        writes: true,
        ..action(
            "delete_message",
            &[Need::Channel, Need::Message],
            "give the bot the permission Manage Messages there",
        )
    },
    Action { writes: true, ..action("add_role", &[Need::Guild, Need::User, Need::Role], ROLES) },
    Action { writes: true, ..action("remove_role", &[Need::Guild, Need::User, Need::Role], ROLES) },
];

const PINS: &str = "give the bot the permission Pin Messages there";

/// A call as it was written.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Ask {
    /// The action.
    pub action: String,
    guild_id: Option<String>,
    channel_id: Option<String>,
    user_id: Option<String>,
    role_id: Option<String>,
    message_id: Option<String>,
    query: Option<String>,
    name: Option<String>,
    limit: Option<u64>,
    before: Option<String>,
    after: Option<String>,
    auto_archive_duration: Option<u64>,
}

/// What a call would do, with everything that it needs.
#[derive(Debug, Clone)]
pub struct Wanted {
    action: &'static Action,
    ask: Ask,
}

/// Which actions a bot has, as its settings and its flags say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u64);

impl Flags {
    /// Whether the bot may see members.
    pub fn sees_members(self) -> bool {
        self.0 & MEMBERS != 0
    }

    fn reads_content(self) -> bool {
        self.0 & CONTENT != 0
    }
}

/// Whether there is a token.
pub fn is_set_up(settings: &Settings) -> bool {
    variable(settings, "DISCORD_BOT_TOKEN").is_some()
}

impl Ask {
    fn given(&self, need: Need) -> Option<&str> {
        let text = match need {
            Need::Guild => &self.guild_id,
            Need::Channel => &self.channel_id,
            Need::User => &self.user_id,
            Need::Role => &self.role_id,
            Need::Message => &self.message_id,
            Need::Query => &self.query,
            Need::Name => &self.name,
        };
        text.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Checks a call: the action is known and let through, and nothing that it needs is missing.
    pub fn checked(
        self,
        actions: &'static [Action],
        settings: &Settings,
    ) -> Result<Wanted, VendorError> {
        let names: Vec<&str> = actions.iter().map(|it| it.name).collect();
        let Some(action) = actions.iter().find(|it| it.name == self.action) else {
            let text = format!("there is no action `{}`", cut(&self.action, 40));
            return Err(VendorError::argument(text).with("candidates", names));
        };
        if let Some(allowed) = settings.names("discord.server_actions")
            && !allowed.iter().any(|it| it == action.name)
        {
            let text = format!("`{}` is not among `discord.server_actions`", action.name);
            return Err(VendorError::new("blocked_policy", text).with("allowed", allowed));
        }
        let missing: Vec<&str> = action
            .needs
            .iter()
            .filter(|need| self.given(**need).is_none())
            .map(|need| need.parameter())
            .collect();
        if !missing.is_empty() {
            let text = format!("`{}` needs {}", action.name, missing.join(", "));
            return Err(VendorError::argument(text).with("missing", missing));
        }
        for need in [Need::Guild, Need::Channel, Need::User, Need::Role, Need::Message] {
            snowflake(need.parameter(), self.given(need))?;
        }
        snowflake("before", self.before.as_deref())?;
        snowflake("after", self.after.as_deref())?;
        if self.auto_archive_duration.is_some_and(|it| ![60, 1440, 4320, 10080].contains(&it)) {
            return Err(VendorError::argument(
                "`auto_archive_duration` is 60, 1440, 4320 or 10080",
            ));
        }
        Ok(Wanted { action, ask: self })
    }
}

fn snowflake(parameter: &str, text: Option<&str>) -> Result<(), VendorError> {
    let Some(text) = text else { return Ok(()) };
    if !text.is_empty() && text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(VendorError::argument(format!(
        "`{parameter}` is a number of Discord's, such as 81384788765712384"
    )))
}

impl Wanted {
    /// Whom it reaches, where others see it. What cannot be taken back is named by itself, so that
    /// consent to one thing is none to another.
    pub fn target(&self) -> Option<String> {
        let of = |need| self.ask.given(need).unwrap_or_default();
        let name = self.action.name;
        let place = match name {
            "delete_message" => format!("{name}:{}/{}", of(Need::Channel), of(Need::Message)),
            "add_role" | "remove_role" => {
                format!("{name}:{}/{}/{}", of(Need::Guild), of(Need::User), of(Need::Role))
            }
            _ => of(Need::Channel).to_owned(),
        };
        self.action.writes.then(|| format!("discord:{place}"))
    }
}

/// A bot's account.
#[derive(Debug)]
pub struct Bot {
    service: Service,
}

impl Bot {
    /// The bot of a snapshot.
    pub fn open(settings: &Settings) -> Result<Self, VendorError> {
        let Some(token) = variable(settings, "DISCORD_BOT_TOKEN") else {
            return Err(VendorError::setup(NEEDS, &["DISCORD_BOT_TOKEN"]));
        };
        let base = settings.text("services.endpoints.discord").unwrap_or(BASE);
        let secret = Secret::new(format!("Bot {}", token.expose().trim()));
        let mut service = Service::new("Discord", base, settings)?
            .with_key(secret, Scheme::Header("authorization"));
        service.bytes_max = BYTES_MAX;
        Ok(Self { service })
    }

    /// The host that it speaks to.
    pub fn host(&self) -> &str {
        self.service.host()
    }

    /// What the bot is allowed to see.
    pub async fn flags(&self) -> Result<Flags, VendorError> {
        let answer = self.ask(Method::GET, "/applications/@me", Sent::default()).await?;
        if answer.status != 200 {
            return Err(self.refused(&answer, SEE));
        }
        let value = self.service.parsed(&answer)?;
        Ok(Flags(value.get("flags").and_then(Value::as_u64).unwrap_or(0)))
    }

    /// Carries out an action.
    pub async fn run(&self, wanted: &Wanted, flags: Flags) -> Result<Value, VendorError> {
        if wanted.action.members && !flags.sees_members() {
            let text = format!(
                "`{}` needs the Server Members Intent: turn it on for the bot in Discord's \
                 developer portal",
                wanted.action.name
            );
            return Err(VendorError::new("unsupported", text));
        }
        let (method, path, sent) = wanted.request();
        let answer = self.ask(method, &path, sent).await?;
        if !(200..300).contains(&answer.status) {
            return Err(self.refused(&answer, wanted.action.advice));
        }
        let value = self.service.parsed(&answer)?;
        Ok(told::told(wanted, &value, flags))
    }

    /// A request; where Discord asks for a short pause, once more after it.
    async fn ask(&self, method: Method, path: &str, sent: Sent) -> Result<Answer, VendorError> {
        let first = self.service.ask(method.clone(), path, sent.clone()).await?;
        let pause = first.retry_after().filter(|_| first.status == 429);
        match pause {
            Some(seconds) if seconds <= PAUSE_MAX => {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                self.service.ask(method, path, sent).await
            }
            _ => Ok(first),
        }
    }

    fn refused(&self, answer: &Answer, advice: &str) -> VendorError {
        let error = self.service.failure(answer);
        match answer.status {
            401 => VendorError {
                message: "Discord refuses DISCORD_BOT_TOKEN; copy it again".to_owned(),
                ..error
            },
            403 => VendorError {
                kind: "denied",
                message: format!("the bot may not do this: {advice} (403)"),
                ..error
            },
            404 => VendorError {
                message:
                    "Discord knows no such thing, or hides it from the bot; check the ids (404)"
                        .to_owned(),
                ..error
            },
            _ => error,
        }
    }
}

impl Wanted {
    fn request(&self) -> (Method, String, Sent) {
        let of = |need| self.ask.given(need).unwrap_or_default();
        let (guild, channel) = (of(Need::Guild), of(Need::Channel));
        let (user, role, message) = (of(Need::User), of(Need::Role), of(Need::Message));
        let limit = |usual: u64, most: u64| {
            Some(self.ask.limit.unwrap_or(usual).clamp(1, most).to_string())
        };
        let get = |path: String| (Method::GET, path, Sent::default());
        let bare = |method: Method, path: String| (method, path, Sent::default());
        match self.action.name {
            "search_members" => get(format!(
                "/guilds/{guild}/members/search{}",
                query([
                    ("query", Some(cut(of(Need::Query), 99))),
                    ("limit", limit(MEMBERS_USUAL, 100)),
                ])
            )),
            "fetch_messages" => get(format!(
                "/channels/{channel}/messages{}",
                query([
                    ("limit", limit(MESSAGES_USUAL, 100)),
                    ("before", self.ask.before.clone()),
                    ("after", self.ask.after.clone()),
                ])
            )),
            "create_thread" => {
                let mut body = json!({ "name": cut(of(Need::Name), 99) });
                let minutes = self.ask.auto_archive_duration.unwrap_or(1440);
                body["auto_archive_duration"] = minutes.into();
                if message.is_empty() {
                    // A public thread of a text channel.
                    body["type"] = 11.into();
                    (Method::POST, format!("/channels/{channel}/threads"), Sent::json(&body))
                } else {
                    let path = format!("/channels/{channel}/messages/{message}/threads");
                    (Method::POST, path, Sent::json(&body))
                }
            }
            "list_guilds" => get("/users/@me/guilds".to_owned()),
            "server_info" => get(format!("/guilds/{guild}?with_counts=true")),
            "list_channels" => get(format!("/guilds/{guild}/channels")),
            "channel_info" => get(format!("/channels/{channel}")),
            "list_roles" => get(format!("/guilds/{guild}/roles")),
            "member_info" => get(format!("/guilds/{guild}/members/{user}")),
            "list_pins" => get(format!(
                "/channels/{channel}/messages/pins{}",
                query([("limit", limit(50, 50))])
            )),
            "pin_message" => {
                bare(Method::PUT, format!("/channels/{channel}/messages/pins/{message}"))
            }
            "unpin_message" => {
                bare(Method::DELETE, format!("/channels/{channel}/messages/pins/{message}"))
            }
            "delete_message" => {
                bare(Method::DELETE, format!("/channels/{channel}/messages/{message}"))
            }
            "add_role" => bare(Method::PUT, format!("/guilds/{guild}/members/{user}/roles/{role}")),
            _ => bare(Method::DELETE, format!("/guilds/{guild}/members/{user}/roles/{role}")),
        }
    }
}
