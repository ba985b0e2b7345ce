//! Who may write: twelve rules, the first that decides counts, and its name goes with the answer.
//!
//! Pure over what is known, so that `gateway explain` asks the very function that lets people in.

use petasos_session::CommandClass;
use petasos_store::ChatKind;

use crate::options::{AllowBots, GatewayOptions, PlatformOptions};
use crate::platform::Sender;

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Talk.
    User,
    /// Change how the chat works.
    Admin,
    /// Everything.
    Owner,
}

impl Class {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

/// What is known about a sender when it is decided.
#[derive(Debug, Clone, Copy)]
pub struct AccessFacts<'a> {
    /// The platform's name.
    pub platform: &'a str,
    /// The chat.
    pub chat: &'a str,
    /// What kind of chat it is.
    pub kind: ChatKind,
    /// Who writes; the identity in its one spelling.
    pub sender: &'a Sender,
    /// Whether the message names us.
    pub addressed: bool,
    /// Whether the sender was let in by a code.
    pub standing: Standing,
}

/// Whether somebody was let in by a code. Ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// No.
    Unpaired,
    /// Yes.
    Paired,
    /// As the first of all, who owns everything.
    First,
}

impl Standing {
    /// Of somebody among those who were let in.
    pub fn of(user: Option<&str>, paired: &[petasos_store::Paired]) -> Self {
        match paired.iter().find(|person| Some(person.user.as_str()) == user) {
            Some(person) if person.owner => Self::First,
            Some(_) => Self::Paired,
            None => Self::Unpaired,
        }
    }
}

/// An answer with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// What the sender may do; nothing when absent.
    pub class: Option<Class>,
    /// The rule that decided.
    pub rule: &'static str,
    /// Rules that were asked before it.
    pub asked: Vec<&'static str>,
}

/// Decides.
pub fn decide(
    facts: &AccessFacts<'_>,
    platform: &PlatformOptions,
    gateway: &GatewayOptions,
) -> Access {
    let mut asked = Vec::new();
    for (name, rule) in RULES {
        match rule(facts, platform, gateway) {
            Decision::Pass => asked.push(*name),
            Decision::Deny => return Access { class: None, rule: name, asked },
            Decision::Allow => {
                let class = Some(class_of(facts, platform, gateway));
                return Access { class, rule: name, asked };
            }
            Decision::AllowUser => return Access { class: Some(Class::User), rule: name, asked },
        }
    }
    Access { class: None, rule: "nobody let them in", asked }
}

enum Decision {
    Pass,
    Allow,
    AllowUser,
    Deny,
}

fn allow_if(holds: bool) -> Decision {
    if holds { Decision::Allow } else { Decision::Pass }
}

type Rule = fn(&AccessFacts<'_>, &PlatformOptions, &GatewayOptions) -> Decision;

/// In the order in which they are asked.
const RULES: &[(&str, Rule)] = &[
    ("a machine that proved itself", |facts, _, _| {
        if facts.sender.machine.is_some() { Decision::AllowUser } else { Decision::Pass }
    }),
    ("the chat is open to everybody", |facts, platform, _| {
        let open = facts.kind.is_shared() && platform.open_chats.contains(facts.chat);
        if open && !facts.sender.bot { Decision::AllowUser } else { Decision::Pass }
    }),
    ("bots", |facts, platform, _| match (facts.sender.bot, platform.bots) {
        (false, _) | (true, AllowBots::All) => Decision::Pass,
        (true, AllowBots::Mentions) if facts.addressed => Decision::Pass,
        (true, _) => Decision::Deny,
    }),
    ("no identity", |facts, _, _| {
        let known = facts.sender.id.as_deref().is_some_and(|id| !id.is_empty());
        if known { Decision::Pass } else { Decision::Deny }
    }),
    ("everybody on this platform", |_, platform, _| allow_if(platform.allow_all)),
    ("a role", |facts, platform, _| {
        allow_if(facts.sender.roles.iter().any(|role| platform.roles.contains(role)))
    }),
    ("paired", |facts, _, _| allow_if(facts.standing >= Standing::Paired)),
    ("the list of this platform", |facts, platform, _| {
        let listed = |id: &str| platform.allowed.contains(id);
        allow_if(listed("*") || facts.sender.names().any(listed))
    }),
    ("the list of groups", |facts, platform, _| {
        let listed = |id: &str| platform.group_allowed.contains(id);
        allow_if(facts.kind.is_shared() && (listed("*") || facts.sender.names().any(listed)))
    }),
    ("the list of the gateway", |facts, _, gateway| {
        let listed = |entry: &str| gateway.allowed.contains(entry);
        let full = |id: &str| listed(&format!("{}:{id}", facts.platform));
        allow_if(listed("*") || facts.sender.names().any(|id| listed(id) || full(id)))
    }),
    ("the owner", |facts, _, gateway| allow_if(is_owner(facts, gateway))),
    ("everybody everywhere", |_, _, gateway| allow_if(gateway.allow_all)),
];

pub(crate) fn is_owner(facts: &AccessFacts<'_>, gateway: &GatewayOptions) -> bool {
    let id = facts.sender.id.as_deref().unwrap_or_default();
    match &gateway.owner {
        Some(owner) => *owner == format!("{}:{id}", facts.platform),
        None => facts.standing == Standing::First,
    }
}

/// Without a list of administrators everybody who is allowed is one, in that kind of chat.
fn class_of(
    facts: &AccessFacts<'_>,
    platform: &PlatformOptions,
    gateway: &GatewayOptions,
) -> Class {
    if is_owner(facts, gateway) {
        return Class::Owner;
    }
    let list = if facts.kind.is_shared() { &platform.group_admins } else { &platform.admins };
    let id = facts.sender.id.as_deref().unwrap_or_default();
    if list.is_empty() || list.contains(id) { Class::Admin } else { Class::User }
}

/// What a slash command needs.
pub(crate) fn command_class(name: &str) -> Class {
    match petasos_session::command_row(name).map(|row| row.class) {
        Some(CommandClass::Owner) => Class::Owner,
        Some(CommandClass::Admin) => Class::Admin,
        _ => Class::User,
    }
}

/// Whether a command is open to everybody who may write.
pub(crate) fn is_open_command(name: &str) -> bool {
    petasos_session::command_row(name).is_some_and(|row| row.class == CommandClass::Everybody)
}

/// Whether somebody of this class may run a command with these words: looking may be for more
/// people than changing.
pub fn may_run_with(class: Class, (name, words): (&str, &str), platform: &PlatformOptions) -> bool {
    let first = words.split_whitespace().next().unwrap_or_default();
    let is_admin = class >= Class::Admin;
    match (name, first) {
        ("cron", "" | "list") => is_admin || platform.user_commands.contains(name),
        ("model", _) if words.split_whitespace().any(|word| word == "--global") => is_admin,
        // Those of skills change them, or read places that their person names.
        ("memory" | "curator", "approve" | "reject" | "run")
        | (
            "skills",
            "approve" | "reject" | "inspect" | "install" | "update" | "uninstall" | "publish-check",
        ) => is_admin,
        _ => may_run(class, name, platform),
    }
}

/// Whether somebody of this class may run a command.
pub fn may_run(class: Class, name: &str, platform: &PlatformOptions) -> bool {
    if is_open_command(name) {
        return true;
    }
    match command_class(name) {
        Class::Owner => class == Class::Owner,
        Class::Admin => class >= Class::Admin,
        Class::User => class >= Class::Admin || platform.user_commands.contains(name),
    }
}
