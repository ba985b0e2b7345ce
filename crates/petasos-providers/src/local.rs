//! Model servers on this machine: where the usual ones listen, and asking whether they do.
//!
//! The probe sends no key and waits a fraction of a second; resolution only reads its answer.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use petasos_contract::Settings;
use petasos_net::{Method, Net, Request, Url};
use serde::Serialize;
use serde_json::Value;

use crate::credential::VaultView;
use crate::credential::command::SecretCommands;
use crate::credential::minted::Mints;
use crate::resolve::{ResolveError, Resolved, resolve};
use crate::runtime::BaseUrl;

/// A kind of local server and where it listens by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name, also accepted as a provider name.
    pub name: &'static str,
    /// Its usual endpoint.
    pub base_url: &'static str,
}

/// The usual servers, in the order in which they are asked.
pub const KNOWN: [Known; 4] = [
    Known { name: OLLAMA, base_url: "http://127.0.0.1:11434/v1" },
    Known { name: "lmstudio", base_url: "http://127.0.0.1:1234/v1" },
    Known { name: "llama.cpp", base_url: "http://127.0.0.1:8080/v1" },
    Known { name: "vllm", base_url: "http://127.0.0.1:8000/v1" },
];

/// The usual endpoint for a provider name that means a local server.
pub fn usual_endpoint(name: &str) -> Option<&'static str> {
    let name = match name {
        "llamacpp" | "llama-cpp" => "llama.cpp",
        other => other,
    };
    KNOWN.iter().find(|known| known.name == name).map(|known| known.base_url)
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocalServer {
    /// What it seems to be.
    pub name: String,
    /// Its endpoint.
    pub base_url: String,
    /// The models it lists.
    pub models: Vec<String>,
}

/// Asks every usual place at once, and the one that `OLLAMA_HOST` names; those that answer in time
/// are returned in order.
pub async fn probe(net: &Net, settings: &Settings, within: Duration) -> Vec<LocalServer> {
    Box::pin(probe_at(&KNOWN, net, settings, within)).await
}

async fn probe_at(
    places: &[Known; 4],
    net: &Net,
    settings: &Settings,
    within: Duration,
) -> Vec<LocalServer> {
    let own = ollama_at(settings);
    let named = async {
        match &own {
            Some(url) => probe_one(net, OLLAMA, url, within).await,
            None => None,
        }
    };
    let [a, b, c, d] = places.map(|known| probe_one(net, known.name, known.base_url, within));
    let (named, a, b, c, d) = tokio::join!(named, a, b, c, d);
    let mut found: Vec<LocalServer> = [a, b, c, d].into_iter().flatten().collect();
    if let Some(named) = named {
        found.retain(|server| server.name != OLLAMA);
        found.insert(0, named);
    }
    found
}

/// Where the person's own Ollama listens, when its variable says so: a host, a port, or both.
fn ollama_at(settings: &Settings) -> Option<String> {
    let said = settings.variable("OLLAMA_HOST")?.value.expose().trim();
    let said = said.strip_prefix("http://").unwrap_or(said).trim_end_matches('/');
    let (host, port) = match said.rsplit_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().ok()?),
        None => (said, 11434),
    };
    // A server that listens everywhere is reached here.
    let host = if matches!(host, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { host };
    (!said.is_empty()).then(|| format!("http://{host}:{port}/v1"))
}

/// The name of a server whose place a variable may tell.
const OLLAMA: &str = "ollama";

/// Resolves with what has to be found out first: keys that programs print, tokens that clouds mint,
/// servers of this machine. What surfaces ask and what `provider explain` shows.
#[derive(Debug)]
pub struct Finder {
    places: [Known; 4],
    mints: Mints,
    commands: SecretCommands,
    found: Mutex<Option<(Instant, Vec<LocalServer>)>>,
}

impl Default for Finder {
    fn default() -> Self {
        Self::at(KNOWN)
    }
}

impl Finder {
    /// A finder that looks at these places.
    pub fn at(places: [Known; 4]) -> Self {
        let commands = SecretCommands::new(None);
        Self { places, mints: Mints::default(), commands, found: Mutex::new(None) }
    }

    /// The same finder with other places that mint tokens.
    #[must_use]
    pub fn with_mints(mut self, mints: Mints) -> Self {
        self.mints = mints;
        self
    }

    /// The same finder that may start programs which print keys.
    #[must_use]
    pub fn with_commands(mut self, commands: SecretCommands) -> Self {
        self.commands = commands;
        self
    }

    /// What programs printed and when it ends.
    pub(crate) fn commands(&self) -> &SecretCommands {
        &self.commands
    }

    /// Resolves; when a key has to be printed or a cloud's token minted, does that, and when
    /// nothing is configured at all, looks for servers on this machine; then resolves once more.
    pub async fn resolve(
        &self,
        request: &crate::Request,
        settings: &Settings,
        mut view: VaultView,
        net: &Net,
    ) -> Resolved {
        let mut resolved = match Box::pin(self.printed(request, settings, &mut view)).await {
            Ok(resolved) => resolved,
            Err(failed) => return *failed,
        };
        if let Err(error) = &mut resolved.outcome
            && Mints::lifts(error.code)
        {
            let code = error.code;
            match Box::pin(self.mints.fill(code, &mut view, settings, net)).await {
                Ok(()) => return resolve(request, settings, &view),
                Err(why) => {
                    error.message = format!("{}: {why}", error.message);
                    error.code = Mints::without(code);
                }
            }
        }
        let nothing = matches!(&resolved.outcome, Err(error) if error.code == NOTHING);
        if !nothing {
            return resolved;
        }
        // Four requests at once are a large future, and a rare one.
        view.local = Box::pin(self.find(net, settings)).await;
        if view.local.is_empty() { resolved } else { resolve(request, settings, &view) }
    }

    /// Resolves with every key that a program has to print; one that fails ends the question.
    async fn printed(
        &self,
        request: &crate::Request,
        settings: &Settings,
        view: &mut VaultView,
    ) -> Result<Resolved, Box<Resolved>> {
        view.printed = self.commands.held();
        let mut resolved = resolve(request, settings, view);
        // A key may lead to another candidate that has one too, but not for ever.
        for _ in 0..COMMANDS_MAX {
            let Some(command) = resolved.wants.first().cloned() else { break };
            match self.commands.get(&command).await {
                Ok(printed) => {
                    view.printed.insert(command, printed);
                    resolved = resolve(request, settings, view);
                }
                Err(error) => {
                    let provider = request.provider.as_deref().unwrap_or_default();
                    let error =
                        ResolveError::new("key_command_failed", provider, error.to_string());
                    resolved.outcome = Err(error.hint("run the command yourself, then try again"));
                    return Err(Box::new(resolved));
                }
            }
        }
        Ok(resolved)
    }

    /// The servers that were found a short while ago.
    pub(crate) fn remembered(&self) -> Option<Vec<LocalServer>> {
        let held = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = held.as_ref().filter(|(at, _)| at.elapsed() < REMEMBERED);
        fresh.map(|(_, found)| found.clone())
    }

    async fn find(&self, net: &Net, settings: &Settings) -> Vec<LocalServer> {
        if let Some(found) = self.remembered() {
            return found;
        }
        let found = Box::pin(probe_at(&self.places, net, settings, PROBE)).await;
        // Nothing found is not remembered: a person who starts a server wants it used.
        let remember = (!found.is_empty()).then(|| (Instant::now(), found.clone()));
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = remember;
        found
    }
}

/// The resolver's word for "nobody chose anything and no key was found".
const NOTHING: &str = "no_provider_configured";

/// The most commands that one resolution runs.
const COMMANDS_MAX: usize = 8;

/// How long local servers may take to show themselves.
const PROBE: Duration = Duration::from_millis(300);

/// How long a server that was found is believed to be there.
const REMEMBERED: Duration = Duration::from_mins(1);

/// Asks one endpoint for its models; nothing when it does not answer as a model server does.
pub async fn probe_one(
    net: &Net,
    name: &str,
    base_url: &str,
    within: Duration,
) -> Option<LocalServer> {
    let base_url = BaseUrl::parse(base_url).ok()?;
    let models = models(net, base_url.at("/models").ok()?, within).await?;
    Some(LocalServer { name: name.to_owned(), base_url: base_url.to_string(), models })
}

async fn models(net: &Net, url: Url, within: Duration) -> Option<Vec<String>> {
    const BYTES_MAX: usize = 1 << 20;
    let reply = match net.send(Request::new(Method::GET, url).first_byte(within)).await {
        Ok(reply) if reply.status == 200 => reply,
        Ok(_) => return None,
        Err(error) => {
            tracing::debug!("no local server there: {error}");
            return None;
        }
    };
    let body = reply.bytes(BYTES_MAX, within).await.ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let list = body.get("data")?.as_array()?;
    Some(list.iter().filter_map(|model| model.get("id")?.as_str().map(str::to_owned)).collect())
}
