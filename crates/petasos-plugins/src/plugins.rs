//! All plugins of a program: started together, each within its own deadline, each failing alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use futures::future::join_all;
use parking_lot::Mutex;
use petasos_contract::model::Model;
use petasos_contract::ports::{Door, Skills};
use petasos_contract::processes::{HelperSpec, Processes};
use petasos_contract::wait::{self, Owned};
use petasos_contract::{CallContext, Settings};
use petasos_runtime::Registry;
use petasos_runtime::hooks::HookBus;
use petasos_runtime::middleware::Middleware;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::discover::{Discovered, Found, discover};
use crate::manifest::Manifest;
use crate::plugin::{CommandInfo, Plugin};
use crate::python;

/// How long the program waits for all of them together; a slow one joins when it is ready.
const START_BUDGET: Duration = Duration::from_secs(3);
/// How long the installed packages may take to be listed.
const PACKAGES_DEADLINE: Duration = Duration::from_secs(10);

/// Takes a message of a plugin into the conversation; false where that is impossible.
pub type Injector = dyn Fn(&str, &str) -> bool + Send + Sync;

/// What plugins live among.
pub struct Surroundings {
    /// The configuration.
    pub settings: Arc<Settings>,
    /// Who starts programs.
    pub processes: Arc<dyn Processes>,
    /// Where tools go.
    pub registry: Arc<Registry>,
    /// Where hooks go.
    pub hooks: Arc<HookBus>,
    /// Where middleware goes.
    pub middleware: Arc<Middleware>,
    /// The one door, for `ctx.dispatch_tool`.
    pub door: Option<Arc<dyn Door>>,
    /// Where their skills go.
    pub skills: Option<Arc<dyn Skills>>,
    /// The model behind `ctx.llm`, without middleware.
    pub model: Option<Arc<dyn Model>>,
    /// Names that a plugin's command may not take.
    pub reserved_commands: Vec<String>,
    /// Who takes messages, once a surface that can does.
    pub injector: ArcSwapOption<Box<Injector>>,
}

impl Surroundings {
    pub(crate) fn inject(&self, params: &Value) -> bool {
        let text = params.get("text").and_then(Value::as_str).unwrap_or_default();
        let role = params.get("role").and_then(Value::as_str).unwrap_or("user");
        let injector = self.injector.load();
        injector.as_ref().is_some_and(|injector| injector(text, role))
    }

    /// `default`, or the folder name below `profiles`.
    pub(crate) fn profile_name(&self) -> String {
        let home = self.settings.home();
        let below = home.parent().and_then(|parent| parent.file_name());
        let own = home.file_name().map(|name| name.to_string_lossy().into_owned());
        match own {
            Some(own) if below.is_some_and(|name| name == "profiles") => own,
            _ => "default".to_owned(),
        }
    }
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// All plugins of a program.
#[derive(Debug)]
pub struct Plugins {
    host: Arc<Surroundings>,
    discovered: Discovered,
    running: Vec<Arc<Plugin>>,
    /// The starts that take longer than the program waits.
    starts: Mutex<Vec<Owned<()>>>,
}

impl Plugins {
    /// Finds the plugins and starts those that run. Their failures are theirs: see `running`.
    pub async fn start(host: Surroundings) -> Self {
        let host = Arc::new(host);
        let mut discovered = discover(&host.settings);
        if !discovered.missing.is_empty() {
            add_packages(&mut discovered, &host).await;
        }
        let wanted = discovered.found.iter().filter(|found| found.runs());
        let running: Vec<Arc<Plugin>> =
            wanted.map(|found| Plugin::new(found.manifest.clone(), Arc::clone(&host))).collect();
        running.iter().for_each(Plugin::hold_place);
        let starts = Mutex::new(running.iter().map(started).collect());
        let plugins = Self { host, discovered, running, starts };
        let settled = plugins.settle();
        if wait::until(Instant::now() + START_BUDGET, "plugins to start", settled).await.is_err() {
            tracing::warn!("a plugin is slow to start and joins when it is ready");
        }
        plugins
    }

    /// Waits until each start is over, one way or the other.
    pub async fn settle(&self) {
        let mut states: Vec<_> = self.running.iter().map(|plugin| plugin.settled()).collect();
        for state in &mut states {
            // A plugin that is gone has settled, too.
            drop(state.wait_for(|settled| *settled).await);
        }
    }

    /// Those that should run and do not, each with why and what to do.
    pub fn troubles(&self) -> Vec<String> {
        self.running.iter().filter_map(|plugin| plugin.trouble()).collect()
    }

    /// What was found, running or not.
    pub fn discovered(&self) -> &Discovered {
        &self.discovered
    }

    /// Those that should run, with how they are.
    pub fn running(&self) -> &[Arc<Plugin>] {
        &self.running
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<&Arc<Plugin>> {
        let named =
            |plugin: &&Arc<Plugin>| plugin.manifest().key == name || plugin.manifest().name == name;
        self.running.iter().find(named)
    }

    /// The commands for a conversation.
    pub fn commands(&self) -> Vec<CommandInfo> {
        self.running.iter().flat_map(|plugin| plugin.registered().commands).collect()
    }

    /// Lets a plugin's command run; `None` when nobody has it. The text is for the user.
    pub async fn run_command(
        &self,
        name: &str,
        arguments: &str,
        cx: &CallContext,
    ) -> Option<Result<String, String>> {
        let owner = self.running.iter().find(|plugin| {
            plugin.registered().commands.iter().any(|command| command.name == name)
        })?;
        let params = json!({ "name": name, "args": arguments });
        let answer = owner.ask("command.run", params, cx).await;
        Some(match answer {
            Ok(Value::String(text)) => Ok(text),
            Ok(Value::Null) => Ok(String::new()),
            Ok(other) => Ok(other.to_string()),
            Err(error) => Err(format!("plugin `{}`: {error}", owner.manifest().key)),
        })
    }

    /// Lets a plugin's command of the program run: its output and its exit code.
    pub async fn run_cli(
        &self,
        name: &str,
        argv: &[String],
        cx: &CallContext,
    ) -> Option<Result<(String, u8), String>> {
        let owner = self.running.iter().find(|plugin| {
            plugin.registered().cli_commands.iter().any(|command| command.name == name)
        })?;
        let params = json!({ "name": name, "argv": argv });
        Some(match owner.ask("cli.run", params, cx).await {
            Ok(answer) => {
                let output = answer.get("output").and_then(Value::as_str).unwrap_or_default();
                let code = answer.get("code").and_then(Value::as_u64).unwrap_or(0);
                Ok((output.to_owned(), u8::try_from(code).unwrap_or(1)))
            }
            Err(error) => Err(format!("plugin `{}`: {error}", owner.manifest().key)),
        })
    }

    /// Who takes `ctx.inject_message` from now on.
    pub fn set_injector(&self, injector: Box<Injector>) {
        self.host.injector.store(Some(Arc::new(injector)));
    }

    /// Ends them all and removes what they registered.
    pub async fn stop(&self) {
        self.starts.lock().clear();
        join_all(self.running.iter().map(|plugin| plugin.stop())).await;
    }
}

/// A start, which goes on when nobody waits for it any more.
fn started(plugin: &Arc<Plugin>) -> Owned<()> {
    let plugin = Arc::clone(plugin);
    Owned::start(async move {
        if let Err(why) = plugin.connection().await {
            tracing::warn!(plugin = plugin.manifest().key, why, "a plugin was not started");
        }
    })
}

/// Installed packages under names that no folder has.
async fn add_packages(discovered: &mut Discovered, host: &Surroundings) {
    let listed =
        wait::until(Instant::now() + PACKAGES_DEADLINE, "installed packages", packages(host));
    let listed = match listed.await {
        Ok(Ok(listed)) => listed,
        Ok(Err(why)) => {
            tracing::warn!(why, "installed packages could not be listed");
            return;
        }
        Err(elapsed) => {
            tracing::warn!(%elapsed, "installed packages could not be listed");
            return;
        }
    };
    let missing = std::mem::take(&mut discovered.missing);
    for name in missing {
        match listed.iter().find(|(known, _)| *known == name) {
            Some((name, module)) => {
                let manifest = Manifest::package(name, module);
                let why = "named in `plugins.enabled`".to_owned();
                let decision = crate::discover::Decision::Runs(why);
                discovered.found.push(Found { manifest, decision });
            }
            None => discovered.missing.push(name),
        }
    }
}

async fn packages(host: &Surroundings) -> Result<Vec<(String, String)>, String> {
    let spec = HelperSpec::new(
        "the list of packages",
        python::packages_argv(&host.settings),
        &host.settings,
    );
    let mut helper = host.processes.start(spec).await.map_err(|error| error.to_string())?;
    let mut text = String::new();
    helper.stdout.read_to_string(&mut text).await.map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("the list is unreadable: {error}"))
}
