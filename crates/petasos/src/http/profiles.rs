//! Other profiles of this machine behind the listeners of one program, where
//! `gateway.multiplex_profiles` says so: each with its own home, keys, sessions and settings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_api::{ApiServer, Outgoing, WebhookOptions, WebhookServer};
use petasos_config::{Inputs, home};
use petasos_contract::wait::Owned;
use petasos_cron::Scheduler;
use petasos_session::Sessions;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Over, told};
use crate::chats::ChatProgram;
use crate::halt;
use crate::host::Host;
use crate::scheduled::patience;
use crate::services::Program;

const KEY: &str = "gateway.multiplex_profiles";
const VARIABLE: &str = "GATEWAY_MULTIPLEX_PROFILES";
/// The profile without a name.
const MAIN: &str = "default";

/// A profile that is served beside that of the program.
#[derive(Debug)]
pub(crate) struct Beside {
    sessions: Arc<Sessions>,
    outgoing: Arc<Outgoing>,
    /// Runs of jobs that were asked for over HTTP; due ones are others' work.
    scheduler: Arc<Scheduler>,
    /// How long what runs may go on when the end is asked for.
    patience: Duration,
    beats: Owned<()>,
    halt: Owned<()>,
}

impl Beside {
    /// Works until the end is asked for, and lets running turns end.
    pub(super) fn open(self, stop: &CancellationToken) -> Owned<()> {
        let stop = stop.clone();
        Owned::start(async move {
            told(self.outgoing, stop).await;
            let turns = self.sessions.drain(Instant::now() + self.patience);
            tokio::join!(turns, self.scheduler.drain(self.patience));
            drop((self.beats, self.halt));
        })
    }
}

impl Over<'_> {
    /// Serves every other profile that can be served; a person is told of those that cannot.
    pub(super) async fn beside(
        &self,
        mut api: Option<&mut ApiServer>,
        mut webhooks: Option<&mut WebhookServer>,
    ) -> Result<Vec<Beside>, String> {
        let mut beside = Vec::new();
        if !self.is_wanted() {
            return Ok(beside);
        }
        for name in self.names()? {
            let servers = (api.as_deref_mut(), webhooks.as_deref_mut());
            match self.profile(&name, servers).await {
                Ok(one) => beside.push(one),
                Err(why) => self.out.remark(format!("the profile {name} is not served: {why}")),
            }
        }
        Ok(beside)
    }

    fn is_wanted(&self) -> bool {
        let settings = self.host.settings();
        match settings.variable(VARIABLE).map(|it| it.value.expose().to_lowercase()) {
            Some(word) => matches!(word.as_str(), "1" | "true" | "yes" | "on"),
            None => settings.get(KEY) == Some(&Value::Bool(true)),
        }
    }

    /// The other profiles that have a home.
    fn names(&self) -> Result<Vec<String>, String> {
        let main = Inputs { profile: Some(MAIN.to_owned()), ..self.inputs.clone() };
        let main = home::places(&main).map_err(|error| error.to_string())?;
        let own = home::places(self.inputs).map_err(|error| error.to_string())?.profile;
        let own = own.unwrap_or_else(|| MAIN.to_owned());
        let folders = std::fs::read_dir(main.home.join("profiles")).into_iter().flatten().flatten();
        let folders = folders.filter(|it| it.path().is_dir());
        let profiles = folders.filter_map(|it| it.file_name().into_string().ok());
        let mut names: Vec<String> = profiles.chain([MAIN.to_owned()]).collect();
        names.retain(|name| *name != own);
        names.sort();
        Ok(names)
    }

    async fn profile(
        &self,
        name: &str,
        (api, webhooks): (Option<&mut ApiServer>, Option<&mut WebhookServer>),
    ) -> Result<Beside, String> {
        let said = |report: crate::report::Report| report.to_string();
        let inputs = Inputs { profile: Some(name.to_owned()), ..self.inputs.clone() };
        let host = Arc::new(Host::open(&inputs).map_err(said)?);
        let guests = crate::guests::open(&host, Some(host.people()), self.out).await;
        let guests = guests.map_err(said)?;
        guests.watch(&inputs);
        let program = Program::new(Arc::clone(&host), inputs.clone(), guests);
        let program = ChatProgram::new(Arc::clone(&host), program, &inputs).map_err(said)?;
        let program = Arc::new(program);
        let slashes = crate::extensions::slashes(&host);
        let sessions = host.sessions(Arc::clone(&program) as _, slashes).map_err(said)?;
        host.scheduled().bind(&host, &inputs);
        let over = Over {
            host: &host,
            inputs: &inputs,
            sessions: &sessions,
            program: &program,
            insecure: self.insecure,
            out: self.out,
        };
        let outgoing = host.everywhere().outgoing()?;
        if let Some(api) = api {
            let parts = over.api((None, None), Arc::clone(&outgoing))?;
            api.add_profile(name, parts).await.map_err(|error| error.to_string())?;
        }
        let options = WebhookOptions::read(host.settings(), self.insecure);
        let options = options.map_err(|error| error.to_string())?;
        if let (Some(webhooks), Some(options)) = (webhooks, options) {
            webhooks.add_profile(name, over.webhooks(options, Arc::clone(&outgoing))?).await;
        }
        let halt = halt::watch(host.settings().home(), &sessions);
        let scheduler = host.scheduled().scheduler("serve").map_err(said)?;
        let beats = Owned::start(Arc::clone(&scheduler).beat());
        let patience = patience(host.settings());
        Ok(Beside { sessions, outgoing, scheduler, patience, beats, halt })
    }
}
