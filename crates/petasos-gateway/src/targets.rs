//! Where a target leads: the chat of the conversation, a platform's home, an id, or a name.
//!
//! A function over what is known; nobody guesses.

use petasos_contract::delivery::{Destination, TargetError};
use petasos_contract::{Address, Settings};
use petasos_store::{ChatRoute, KnownTarget};
use serde_json::Value;

use crate::options::text_of;
use crate::platform::{PlatformDef, TargetId};

/// So many places are named when nothing fits.
const CANDIDATES_MAX: usize = 20;

/// An account that can be written from.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) def: &'static PlatformDef,
    pub(crate) account: String,
}

/// What targets are read against.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) served: &'a [Served],
    pub(crate) targets: &'a [KnownTarget],
    pub(crate) routes: &'a [ChatRoute],
}

impl Known<'_> {
    /// Every place that is known, homes first.
    pub(crate) fn all(&self) -> Vec<Destination> {
        let mut all: Vec<Destination> = self.served.iter().filter_map(|it| self.home(it)).collect();
        for target in self.targets {
            let lane = &target.lane;
            let served = |it: &&Served| it.def.name == lane.platform && it.account == lane.account;
            let Some(served) = self.served.iter().find(served) else { continue };
            let id = TargetId { chat: lane.chat.clone(), thread: lane.thread.clone() };
            let found = self.place(served, id);
            if !all
                .iter()
                .any(|it| it.account == found.account && it.to_string() == found.to_string())
            {
                all.push(found);
            }
        }
        all
    }

    /// Where a target leads.
    pub(crate) fn resolve(
        &self,
        target: &str,
        origin: &Address,
    ) -> Result<Destination, TargetError> {
        let target = target.trim();
        if target.is_empty() || target == "origin" {
            return self.origin(origin);
        }
        let (platform, rest) = target.split_once(':').unwrap_or((target, ""));
        let platform = platform.to_lowercase();
        let accounts: Vec<&Served> =
            self.served.iter().filter(|it| it.def.name == platform).collect();
        let Some(first) = accounts.first() else {
            let mut names: Vec<&str> = self.served.iter().map(|it| it.def.name).collect();
            names.dedup();
            let hint = match names.as_slice() {
                [] => "no platform is configured".to_owned(),
                names => format!("the platforms here are {}", names.join(", ")),
            };
            return Err(self.not_found(target, hint, |_| true));
        };
        if rest.is_empty() {
            let home = accounts.iter().find_map(|served| self.home(served));
            return home.ok_or_else(|| {
                let hint = format!(
                    "{platform} has no home: say /sethome in a chat there, or set {}",
                    home_variable(first.def)
                );
                self.not_found(target, hint, |it| it.platform == platform)
            });
        }
        if let Some(id) = (first.def.target)(rest) {
            // A chat that one of several accounts knows is written to from that one.
            let knows = |served: &&&Served| {
                self.targets.iter().any(|it| {
                    it.lane.platform == platform
                        && it.lane.account == served.account
                        && it.lane.chat == id.chat
                })
            };
            let served = accounts.iter().find(knows).unwrap_or(first);
            return Ok(self.place(served, id));
        }
        self.named(target, &platform, rest)
    }

    fn origin(&self, origin: &Address) -> Result<Destination, TargetError> {
        let lane = |it: &&KnownTarget| {
            it.lane.platform == origin.platform.as_str() && it.lane.chat == origin.chat.as_str()
        };
        let account = self.targets.iter().find(lane).map(|it| it.lane.account.as_str());
        let mut served = self.served.iter().filter(|it| it.def.name == origin.platform.as_str());
        let served = served
            .clone()
            .find(|it| account.is_none_or(|account| it.account == account))
            .or_else(|| served.next());
        let Some(served) = served else {
            let hint = "this conversation is held in no chat: name a platform".to_owned();
            return Err(self.not_found("origin", hint, |_| true));
        };
        let thread = origin.thread.as_ref().map(|thread| thread.as_str().to_owned());
        Ok(self.place(served, TargetId { chat: origin.chat.as_str().to_owned(), thread }))
    }

    /// A place that people named: its name as the platform tells it, with or without a `#`.
    fn named(&self, target: &str, platform: &str, words: &str) -> Result<Destination, TargetError> {
        let wanted = words.trim_start_matches('#').trim().to_lowercase();
        let own = |it: &Destination| it.platform == platform;
        let mut found: Vec<Destination> = self
            .all()
            .into_iter()
            .filter(|it| own(it) && it.name.trim_start_matches('#').to_lowercase() == wanted)
            .collect();
        match (found.pop(), found.len()) {
            (Some(one), 0) => Ok(one),
            (Some(one), _) => {
                found.push(one);
                let candidates = found.iter().map(ToString::to_string).collect();
                Err(TargetError::Ambiguous { target: target.to_owned(), candidates })
            }
            (None, _) => {
                let hint = format!("nobody wrote from a place of that name; use {platform}:ID");
                Err(self.not_found(target, hint, own))
            }
        }
    }

    /// The home of a platform: the one that was set in a chat, else the one in the settings.
    fn home(&self, served: &Served) -> Option<Destination> {
        let def = served.def;
        let set = self.targets.iter().find(|it| {
            it.home && it.lane.platform == def.name && it.lane.account == served.account
        });
        let id = match set {
            Some(set) => TargetId { chat: set.lane.chat.clone(), thread: set.lane.thread.clone() },
            None => match self.configured_home(def) {
                Some(home) => home,
                None if def.home_account => TargetId::chat(&served.account),
                None => return None,
            },
        };
        Some(Destination { home: true, ..self.place(served, id) })
    }

    fn configured_home(&self, def: &PlatformDef) -> Option<TargetId> {
        let variable = home_variable(def);
        let written = match self.settings.get(&format!("platforms.{}.home_channel", def.name)) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Object(home)) => match home.get("chat_id")? {
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            },
            _ => None,
        };
        let written = text_of(self.settings, &variable).or(written)?;
        let mut id = (def.target)(&written)?;
        let thread = text_of(self.settings, &format!("{variable}_THREAD_ID"));
        id.thread = thread.or(id.thread);
        Some(id)
    }

    fn place(&self, served: &Served, id: TargetId) -> Destination {
        let (platform, account) = (served.def.name, served.account.as_str());
        let known = self.targets.iter().find(|it| {
            it.lane.platform == platform
                && it.lane.account == account
                && it.lane.chat == id.chat
                && it.lane.thread == id.thread
        });
        let route = self.routes.iter().find(|it| {
            it.key.platform == platform && it.key.account == account && it.key.chat == id.chat
        });
        Destination {
            platform: platform.to_owned(),
            account: account.to_owned(),
            chat: id.chat,
            thread: id.thread,
            name: known.map(|it| it.name.clone()).unwrap_or_default(),
            kind: route.map(|it| it.key.kind.as_str().to_owned()).unwrap_or_default(),
            home: known.is_some_and(|it| it.home),
            unreachable: known.and_then(|it| it.unreachable.clone()),
        }
    }

    fn not_found(
        &self,
        target: &str,
        hint: String,
        wanted: impl Fn(&Destination) -> bool,
    ) -> TargetError {
        let shown = |it: Destination| match it.name.as_str() {
            "" => it.to_string(),
            name => format!("{it} ({name})"),
        };
        let near = self.all().into_iter().filter(wanted).map(shown);
        TargetError::NotFound {
            target: target.to_owned(),
            hint,
            candidates: near.take(CANDIDATES_MAX).collect(),
        }
    }
}

/// The variable that names a platform's home.
pub(crate) fn home_variable(def: &PlatformDef) -> String {
    format!("{}_{}", def.name.to_uppercase(), def.home)
}
