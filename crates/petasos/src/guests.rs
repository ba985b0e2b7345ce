//! The MCP servers of a configuration beside a conversation: started in the background, waited for
//! no longer than the start budget, ended with what is returned.
//!
//! The model hears of servers that are not ready with the turn in which that changes. A changed
//! configuration is followed between turns. Nothing happens when none is configured.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use petasos_config::{Inputs, home};
use petasos_contract::approval::Approver;
use petasos_contract::hook::{Directive, Hook, HookError, HookKind, HookSet, Moment, OnFailure};
use petasos_contract::{BoxFuture, SessionId, Settings};
use petasos_mcp::client::{Around, Reloaded, Servers, State};
use petasos_net::client::{Net, NetOptions};
use petasos_runtime::availability::Checks;
use petasos_runtime::hooks::HookBus;
use serde_json::Value;

use crate::host::Host;
use crate::out::Out;
use crate::report::Report;

/// The name under which the model hears of servers.
const HOOK: &str = "mcp-servers";
/// The name under which calls are held up that nobody watches.
const WATCH: &str = "mcp-trust";
/// More conversations than are in trouble at once; then they are told anew.
const SESSIONS_MAX: usize = 4_096;

/// What the servers of this host are started with.
pub(crate) fn around(host: &Host, people: Option<Arc<dyn Approver>>) -> Around {
    Around {
        settings: Arc::clone(host.settings()),
        net: host.net(),
        processes: host.ports().processes.clone(),
        registry: Arc::clone(host.catalogue().registry()),
        session: None,
        model: Some(host.model()),
        people,
    }
}

/// The servers of one host.
#[derive(Debug)]
pub(crate) struct Guests {
    servers: Servers,
    around: Around,
    hooks: Arc<HookBus>,
    checks: Arc<Checks>,
    followed: Mutex<Followed>,
}

/// Which configuration the servers follow.
#[derive(Debug)]
struct Followed {
    settings: Arc<Settings>,
    /// When the file was last seen to change; not looked at yet when absent.
    stamp: Option<Stamp>,
}

type Stamp = Option<(SystemTime, u64)>;

/// What a newer configuration brought.
pub(crate) struct News {
    pub(crate) done: Reloaded,
    pub(crate) before: Arc<Settings>,
    pub(crate) after: Arc<Settings>,
}

/// The same as [`open`] for a run that nobody changes: nothing where nothing is configured.
pub(crate) async fn start(
    host: &Host,
    people: Option<Arc<dyn Approver>>,
    out: Out,
) -> Result<Option<Arc<Guests>>, Report> {
    if host.settings().get("mcp_servers").is_none() {
        return Ok(None);
    }
    open(host, people, out).await.map(Some)
}

/// Starts the servers and waits for them as long as the first turn may wait. A required one that
/// does not work ends the run; the others join at a later turn, or say why not.
pub(crate) async fn open(
    host: &Host,
    people: Option<Arc<dyn Approver>>,
    out: Out,
) -> Result<Arc<Guests>, Report> {
    let watched = people.is_some();
    let around = around(host, people);
    let guests = Arc::new(Guests {
        servers: Servers::start(&around),
        around,
        hooks: Arc::clone(host.hooks()),
        checks: Arc::clone(host.catalogue().checks()),
        followed: Mutex::new(Followed { settings: Arc::clone(host.settings()), stamp: None }),
    });
    if guests.servers.is_empty() {
        return Ok(guests);
    }
    guests.tell_the_model();
    if !watched {
        let watch = Arc::new(Unwatched(Arc::downgrade(&guests)));
        guests.hooks.deregister(WATCH);
        guests.hooks.register(&(watch as Arc<dyn Hook>));
    }
    guests.servers.settle(Servers::budget(host.settings())).await;
    if let Some(missing) = guests.servers.missing() {
        return Err(Report::new(missing.to_string()).code("mcp_required"));
    }
    guests.troubles().into_iter().for_each(|trouble| out.remark(trouble));
    if !watched {
        let servers = guests.servers.untrusted().into_iter().map(|(_, server)| server);
        for server in servers.collect::<BTreeSet<_>>() {
            out.remark(format!(
                "tools of MCP server `{server}` that may change something wait for your consent, and nobody is there to ask: `mcp_servers.{server}.trusted: true` lets them run"
            ));
        }
    }
    Ok(guests)
}

impl Guests {
    /// The model hears of servers from now on; a second time changes nothing.
    fn tell_the_model(self: &Arc<Self>) {
        self.hooks.deregister(HOOK);
        let teller = Teller { guests: Arc::downgrade(self), told: Mutex::default() };
        self.hooks.register(&(Arc::new(teller) as Arc<dyn Hook>));
    }

    /// Follows the file when it has changed since the last look, where the configuration allows
    /// it and no call is under way.
    pub(crate) async fn follow(self: &Arc<Self>, inputs: &Inputs) -> Result<Option<News>, String> {
        let file = config_file(inputs)?;
        let now = stamp(&file);
        {
            let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            let allowed = followed.settings.get("mcp.auto_reload_on_config_change");
            let first = followed.stamp.is_none();
            if first || followed.stamp == Some(now) || allowed == Some(&Value::Bool(false)) {
                followed.stamp.get_or_insert(now);
                return Ok(None);
            }
            if self.servers.is_busy() {
                return Ok(None);
            }
        }
        let news = self.reload(inputs).await?;
        let same = news.done.is_nothing();
        Ok((!same).then_some(news))
    }

    /// Reads the configuration again and follows it: servers whose entries are the same run on.
    pub(crate) async fn reload(self: &Arc<Self>, inputs: &Inputs) -> Result<News, String> {
        let now = stamp(&config_file(inputs)?);
        let after = petasos_config::load(inputs).map_err(|error| {
            format!("the configuration cannot be read, MCP servers stay as they are: {error}")
        });
        let before = {
            let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            // A file that cannot be read is complained about once.
            followed.stamp = Some(now);
            Arc::clone(&followed.settings)
        };
        let after = Arc::new(after?);
        let around = Around {
            settings: Arc::clone(&after),
            net: Arc::new(Net::new(NetOptions::from_settings(&after))),
            ..self.around.clone()
        };
        let done = self.servers.reload(&around);
        // What was found missing may be there now, and the other way round.
        self.checks.invalidate();
        self.tell_the_model();
        self.servers.settle(Servers::budget(&after)).await;
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.settings = Arc::clone(&after);
        drop(followed);
        Ok(News { done, before, after })
    }

    /// Remembers the file as it is now, so that later changes are seen.
    pub(crate) fn watch(&self, inputs: &Inputs) {
        let Ok(file) = config_file(inputs) else { return };
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.stamp.get_or_insert(stamp(&file));
    }

    /// Servers that are not ready, each in a line for people.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let views = self.servers.views().into_iter();
        let bad = views
            .filter(|view| !matches!(view.state, State::Ready | State::Resting | State::Disabled));
        bad.map(|view| format!("MCP server `{}` is {}", view.name, view.state)).collect()
    }
}

fn config_file(inputs: &Inputs) -> Result<PathBuf, String> {
    home::places(inputs).map(|places| places.config).map_err(|error| error.to_string())
}

fn stamp(file: &Path) -> Stamp {
    let known = file.metadata().ok()?;
    Some((known.modified().ok()?, known.len()))
}

/// Where nobody is there to ask, a tool of a server that is not trusted needs a consent given
/// before, unless its server says that it only reads.
struct Unwatched(Weak<Guests>);

impl Hook for Unwatched {
    fn name(&self) -> &'static str {
        WATCH
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(HookKind::PreToolCall)
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        let wanted = match moment {
            Moment::PreToolCall(about) => {
                let untrusted = self.0.upgrade().map(|guests| guests.servers.untrusted());
                let mut untrusted = untrusted.into_iter().flatten();
                let found = untrusted.find(|(tool, _)| tool == about.tool);
                found.map_or(Directive::Pass, |(_, server)| Directive::AskHuman {
                    message: format!(
                        "MCP server `{server}` does not say that `{}` only reads, and nobody is there to watch it: `mcp_servers.{server}.trusted: true` lets it run",
                        about.tool
                    ),
                    rule_key: Some(format!("mcp:{}", about.tool)),
                })
            }
            _ => Directive::Pass,
        };
        Box::pin(std::future::ready(Ok(wanted)))
    }
}

/// Tells the model, with what the user says, which servers are not ready: when that changes.
struct Teller {
    guests: Weak<Guests>,
    told: Mutex<HashMap<SessionId, String>>,
}

impl Teller {
    fn news(&self, session: &SessionId) -> Option<String> {
        let now = self.guests.upgrade()?.servers.notice().unwrap_or_default();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() > SESSIONS_MAX {
            told.clear();
        }
        // Only who was told of trouble is remembered.
        let before = match now.as_str() {
            "" => told.remove(session),
            trouble => told.insert(session.clone(), trouble.to_owned()),
        };
        let before = before.unwrap_or_default();
        match (now == before, now.is_empty()) {
            (true, _) => None,
            (false, true) => Some("[All MCP servers are ready now.]".to_owned()),
            (false, false) => Some(format!("[{now}]")),
        }
    }
}

impl Hook for Teller {
    fn name(&self) -> &'static str {
        HOOK
    }

    fn wants(&self) -> HookSet {
        HookSet::EMPTY.with(HookKind::PreLlmCall)
    }

    fn fire<'a>(&'a self, moment: &'a Moment<'a>) -> BoxFuture<'a, Result<Directive, HookError>> {
        let news = moment.cx().and_then(|cx| self.news(&cx.session));
        let wanted = news.map_or(Directive::Pass, Directive::Append);
        Box::pin(std::future::ready(Ok(wanted)))
    }
}
