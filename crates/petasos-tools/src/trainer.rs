//! What the `rl_*` tools share: the trainer's checkout, which environment is chosen, and the runs.
//!
//! Everything that is kept is below `<home>/rl`, so that a restart forgets nothing. The programs of
//! a run belong to the process that started them and end with it; its record says so afterwards.

mod choice;
mod environments;
mod fields;
mod locked;
mod python;
mod records;
mod start;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::wait::Owned;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Settings, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_redact::Redactor;
use serde_json::Value;

pub(crate) use choice::Choice;
pub(crate) use environments::{Environment, scan};
pub(crate) use records::{Record, Runs};
pub(crate) use start::{effects as start_effects, launch};
pub(crate) use trial::{effects as trial_effects, limit as trial_limit, trial};

use crate::trouble::Trouble;

pub(crate) const NEEDS: &str =
    "needs TINKER_API_KEY, WANDB_API_KEY, rl.trainer_dir and python3 3.11 or newer";
const KEYS: [&str; 2] = ["TINKER_API_KEY", "WANDB_API_KEY"];

/// Keys, a checkout and an interpreter are there. Starts nothing.
static RL: CheckDef = CheckDef {
    id: "rl",
    scope: CheckScope::Profile,
    probe: |cx| {
        let ready = Place::of(&cx.settings).is_ok();
        Box::pin(async move { Availability::when(ready, NEEDS) })
    },
};

/// What the tools of the family have in common.
pub(crate) const USUAL: ToolDef =
    ToolDef {
        toolset: "rl", emoji: "🧪", requires_env: &KEYS, check: Some(&RL), ..ToolDef::USUAL
    };

/// Where the trainer is, and what runs it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The checkout.
    pub(crate) folder: PathBuf,
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// Where runs are kept.
    pub(crate) kept: PathBuf,
}

impl Place {
    /// As the settings say.
    pub(crate) fn of(settings: &Settings) -> Result<Self, Trouble> {
        let missing = || Trouble::new("missing_setup", NEEDS);
        let is_set = |name: &&str| {
            let value = settings.variable(name);
            value.is_some_and(|value| !value.value.expose().trim().is_empty())
        };
        if !KEYS.iter().all(is_set) {
            return Err(missing());
        }
        let folder = settings.text("rl.trainer_dir").filter(|folder| !folder.is_empty());
        let folder = folder.ok_or_else(missing)?;
        let folder = match folder.strip_prefix("~/") {
            Some(rest) => settings.user_home().join(rest),
            None => PathBuf::from(folder),
        };
        let python = python::find(settings, &folder).ok_or_else(missing)?;
        if !folder.is_dir() {
            return Err(missing());
        }
        Ok(Self { folder, python, kept: settings.home().join("rl") })
    }

    /// The folder of the environments.
    pub(crate) fn environments(&self) -> PathBuf {
        self.folder.join("tinker_atropos").join("environments")
    }

    /// Where a program of a run says what it does.
    pub(crate) fn log(&self, program: &str, run: &str) -> PathBuf {
        self.kept.join("logs").join(format!("{program}_{run}.log"))
    }
}

/// What a tool does with its arguments.
pub(crate) type Handle = for<'a> fn(Seat<'a>, Args) -> BoxFuture<'a, Result<Value, Trouble>>;

/// What one call has at hand.
pub(crate) struct Seat<'a> {
    pub(crate) place: Place,
    pub(crate) ports: &'a Ports,
    pub(crate) cx: &'a CallContext,
    /// The runs that this process owns.
    pub(crate) owned: &'a Mutex<Vec<Owned<()>>>,
}

impl Seat<'_> {
    /// The environments of the checkout.
    pub(crate) fn environments(&self) -> Vec<Environment> {
        scan(&self.place.environments())
    }

    /// What is chosen, with its environment.
    pub(crate) fn chosen(&self) -> Result<(Choice, Environment), Trouble> {
        let choice = Choice::read(&self.place)?;
        let named = choice.environment.clone().ok_or_else(|| {
            Trouble::new("bad_argument", "no environment is chosen: use rl_select_environment")
        })?;
        let known = self.environments();
        let found = known.iter().find(|it| it.name == named).cloned();
        let environment = found.ok_or_else(|| unknown(&named, &known))?;
        Ok((choice, environment))
    }
}

/// An environment that is not there.
pub(crate) fn unknown(name: &str, known: &[Environment]) -> Trouble {
    let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
    let why = format!("no environment is called `{name}`: see `available`");
    Trouble::new("not_found", why).with("available", names)
}

/// A tool of the family.
pub(crate) struct RlTool {
    ports: Ports,
    effects: fn(&Args, &CallContext) -> Effects,
    limit: fn(&Args) -> Option<Duration>,
    handle: Handle,
    owned: Mutex<Vec<Owned<()>>>,
}

impl RlTool {
    /// A tool that reads or keeps, and starts nothing.
    pub(crate) fn plain(ports: &Ports, handle: Handle) -> Arc<dyn Tool> {
        Self::stating(ports, handle, |_, _| Effects::none(), |_| None)
    }

    /// A tool that states effects and may take its time.
    pub(crate) fn stating(
        ports: &Ports,
        handle: Handle,
        effects: fn(&Args, &CallContext) -> Effects,
        limit: fn(&Args) -> Option<Duration>,
    ) -> Arc<dyn Tool> {
        Arc::new(Self { ports: ports.clone(), effects, limit, handle, owned: Mutex::default() })
    }
}

impl Tool for RlTool {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let effects = (self.effects)(&args, cx);
        Box::pin(std::future::ready(Ok(Plan::new(args).with_effects(effects))))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = cleared.into_args();
            let told = match Place::of(&cx.settings) {
                Ok(place) => {
                    let (ports, owned) = (&self.ports, &self.owned);
                    (self.handle)(Seat { place, ports, cx, owned }, args).await
                }
                Err(trouble) => Err(trouble),
            };
            let mut value = told.unwrap_or_else(Trouble::value);
            Redactor::of(&cx.settings).value(&mut value);
            Ok(ToolOutput::json(&value))
        })
    }

    fn time_limit(&self, args: &Args, _: &CallContext) -> Option<Duration> {
        (self.limit)(args)
    }
}

/// Words of a shell line that say what is started, for whoever judges it.
fn line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-=:".contains(it);
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// A path as a word.
fn word(path: &Path) -> String {
    path.display().to_string()
}

fn kept(error: &std::io::Error) -> Trouble {
    Trouble::new("upstream", format!("what is kept of training cannot be used: {error}"))
}

/// What reading metrics would do.
pub(crate) fn wandb_effects(cx: &CallContext) -> Effects {
    let host = petasos_vendors::wandb::host(&cx.settings);
    host.map_or_else(Effects::none, |host| Effects::one(Effect::Reach(host)))
}

/// What choosing an environment would do: its file is loaded.
pub(crate) fn select_effects(name: &str, cx: &CallContext) -> Effects {
    let Ok(place) = Place::of(&cx.settings) else { return Effects::none() };
    let found = scan(&place.environments()).into_iter().find(|it| it.name == name);
    found.map_or_else(Effects::none, |found| {
        let script = line(&[word(&place.python), found.file_path]);
        Effects::one(Effect::Command { script, cwd: place.folder })
    })
}
