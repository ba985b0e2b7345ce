//! Other people's code beside the engines: plugins and shell hooks, started once and together.
//!
//! They live on a runtime of their own, because commands come and go with theirs. A hook that
//! nobody has agreed to is asked about where a person sits at the terminal, and named where not.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::{BoxFuture, SessionId, wait};
use petasos_plugins::discover::is_configured;
use petasos_plugins::plugin::CommandInfo;
use petasos_plugins::shell::{Allowlist, HookSpec, is_safe_mode};
use petasos_plugins::{Plugins, ShellHooks, Surroundings};
use petasos_session::Extra;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::host::Host;
use crate::out::{Out, Reader};

/// How long plugins may take to say good-bye.
const FAREWELL: Duration = Duration::from_secs(2);

/// Plugins and shell hooks of one host.
#[derive(Debug, Default)]
pub struct Extensions {
    plugins: Option<Arc<Plugins>>,
    runtime: Option<Runtime>,
}

impl Extensions {
    /// Starts what the settings name.
    pub(crate) fn start(host: &Host) -> Self {
        let settings = host.settings();
        let mut extensions = Self::default();
        // Plugins come first, so that their directives win over those of shell hooks.
        if is_configured(settings) && !is_safe_mode(settings) {
            extensions.start_plugins(host);
        }
        if settings.get("hooks").is_some() {
            register_hooks(host);
        }
        extensions
    }

    /// The plugins, where any are configured.
    pub fn plugins(&self) -> Option<&Arc<Plugins>> {
        self.plugins.as_ref()
    }

    fn start_plugins(&mut self, host: &Host) {
        let Some(processes) = host.ports().processes.clone() else { return };
        let surroundings = Surroundings {
            settings: Arc::clone(host.settings()),
            processes,
            registry: Arc::clone(host.catalogue().registry()),
            hooks: Arc::clone(host.hooks()),
            middleware: Arc::clone(host.middleware()),
            door: host.ports().door.clone(),
            skills: host.ports().skills.clone(),
            model: Some(host.model()),
            reserved_commands: petasos_session::built_in()
                .chain(petasos_tui::built_in())
                .map(str::to_owned)
                .collect(),
            injector: arc_swap::ArcSwapOption::default(),
        };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("plugins").enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return remark(&format!("plugins were not started: {error}")),
        };
        // Whoever calls may be on a runtime already, where nothing may block but a thread.
        let started = std::thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(Plugins::start(surroundings))).join()
        });
        if let Ok(plugins) = started {
            plugins.troubles().iter().for_each(|trouble| remark(trouble));
            self.plugins = Some(Arc::new(plugins));
        }
        self.runtime = Some(runtime);
    }
}

impl Drop for Extensions {
    fn drop(&mut self) {
        let (Some(runtime), Some(plugins)) = (self.runtime.take(), self.plugins.take()) else {
            return;
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let farewell = wait::until(Instant::now() + FAREWELL, "plugins", plugins.stop());
                // Whoever does not go is ended with its line.
                runtime.block_on(farewell).unwrap_or_default();
            });
        });
        runtime.shutdown_background();
    }
}

/// The program's own commands beside those of sessions, the commands that plugins add, and the one
/// that starts plugins anew.
pub(crate) fn slashes(host: &Arc<Host>) -> Vec<Arc<dyn Extra>> {
    let mut all = crate::extras::of(host);
    let Some(plugins) = host.extensions().plugins() else { return all };
    let slash = |info| Arc::new(PluginSlash { host: Arc::clone(host), info }) as Arc<dyn Extra>;
    let anew = Arc::new(PluginsAnew { plugins: Arc::clone(plugins) }) as Arc<dyn Extra>;
    all.extend(plugins.commands().into_iter().map(slash).chain([anew]));
    all
}

/// Starts plugins anew; what the old one registered and the new one does not is gone.
struct PluginsAnew {
    plugins: Arc<Plugins>,
}

impl Extra for PluginsAnew {
    fn name(&self) -> &'static str {
        "reload-plugins"
    }

    fn about(&self) -> &'static str {
        "Start plugins anew: all, or the one that is named"
    }

    fn run<'a>(&'a self, words: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let running = self.plugins.running().iter();
            let wanted: Vec<_> =
                running.filter(|one| words.is_empty() || one.manifest().key == words).collect();
            if wanted.is_empty() {
                return Err(format!("no plugin is named `{words}`: `petasos plugins list`"));
            }
            let mut lines = Vec::new();
            for plugin in wanted {
                let key = &plugin.manifest().key;
                lines.push(match plugin.reload().await {
                    Ok(()) => format!("- `{key}` is started anew"),
                    Err(why) => format!("- `{key}` was not started: {why}"),
                });
            }
            Ok(lines.join("\n"))
        })
    }
}

/// A command of a plugin, typed in a chat.
struct PluginSlash {
    host: Arc<Host>,
    info: CommandInfo,
}

impl Extra for PluginSlash {
    fn name(&self) -> &str {
        &self.info.name
    }

    fn about(&self) -> &str {
        &self.info.description
    }

    fn run<'a>(&'a self, words: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let gone = || format!("the plugin of /{} is gone", self.info.name);
            let plugins = self.host.extensions().plugins().ok_or_else(gone)?;
            let cx = self.host.call_context(Surface::Cli, SessionId::new("chat"));
            plugins.run_command(&self.info.name, words, &cx).await.ok_or_else(gone)?
        })
    }
}

/// What plugins put into the conversation from now on. Elsewhere `inject_message` says false.
pub(crate) fn injections(host: &Host) -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    if let Some(plugins) = host.extensions().plugins() {
        plugins.set_injector(Box::new(move |text, role| {
            let text = if role == "user" { text.to_owned() } else { format!("[{role}] {text}") };
            !text.trim().is_empty() && sender.send(text).is_ok()
        }));
    }
    receiver
}

fn register_hooks(host: &Host) {
    let settings = host.settings();
    let mut hooks = ShellHooks::of(settings);
    for problem in &hooks.problems {
        remark(problem);
    }
    for hook in std::mem::take(&mut hooks.changed) {
        if agrees(&hook, "has changed since you agreed to it").unwrap_or(false) {
            if let Err(error) = Allowlist::of(settings).approve(&hook, settings) {
                remark(&error.to_string());
            }
            hooks.active.push(hook);
        } else {
            let (event, command) = (&hook.event_name, &hook.command);
            remark(&format!(
                "the hook `{command}` for {event} does not run: its script has changed since \
                 somebody agreed to it (`petasos hooks approve`)"
            ));
            hooks.changed.push(hook);
        }
    }
    for hook in std::mem::take(&mut hooks.pending) {
        if agrees(&hook, "is new").unwrap_or(false) {
            if let Err(error) = Allowlist::of(settings).approve(&hook, settings) {
                remark(&error.to_string());
            }
            hooks.active.push(hook);
        } else {
            let (event, command) = (&hook.event_name, &hook.command);
            remark(&format!(
                "the hook `{command}` for {event} does not run: nobody has agreed to it \
                 (`petasos hooks approve`)"
            ));
        }
    }
    if let Some(processes) = &host.ports().processes {
        hooks.register(host.hooks(), processes);
    }
}

/// Asks the person at the terminal; an error means that nobody is there.
fn agrees(hook: &HookSpec, why: &str) -> io::Result<bool> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    write!(
        terminal,
        "The configuration wants to run this program, which {why}, at every {}:\n  {}\nLet it run from now on? [y/N] ",
        hook.event_name, hook.command
    )?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn remark(text: &str) {
    Out::new(Reader::Person, false).remark(text);
}
