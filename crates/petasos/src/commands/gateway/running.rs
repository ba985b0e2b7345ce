//! `petasos gateway run`: one process of a home, until it is told to stop.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use petasos_config::Inputs;
use petasos_contract::delivery::{Deliveries as _, Destination};
use petasos_contract::wait::Owned;
use petasos_contract::{Address, Settings};
use petasos_cron::{CronHost as _, Jobs, Scheduler};
use petasos_gateway::{Gateway, GatewayParts, PLATFORMS};
use petasos_store::Lane;
use tokio::net::UnixDatagram;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::control::{self, Wish};
use super::storm;
use crate::chats::ChatProgram;
use crate::command::Session;
use crate::halt;
use crate::host::Host;
use crate::http::{Doors, Over};
use crate::out::Out;
use crate::report::Report;
use crate::scheduled::patience;
use crate::services::Program;

/// Held while a gateway of this home runs.
const LOCK: &str = "gateway.lock";
/// How long a gateway that is asked to end may take.
const REPLACED: Duration = Duration::from_mins(1);
/// The service manager starts it again.
const RESTART_CODE: u8 = 75;
/// The service manager does not: the settings are wrong.
const SETTINGS_CODE: u8 = 78;

/// How a gateway is started.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct How {
    /// Replace a gateway that already runs
    #[arg(long)]
    replace: bool,
    /// Accept unsigned webhooks (secret INSECURE_NO_AUTH), on loopback addresses only
    #[arg(long = "allow-insecure-webhooks")]
    insecure_webhooks: bool,
}

pub(super) fn run(session: &mut Session, how: How) -> Result<ExitCode, Report> {
    let out = session.out;
    let inputs = session.host.inputs().clone();
    let host = Arc::new(Host::open(&inputs)?);
    crate::logging::start(host.settings());
    let home = host.settings().home().to_owned();
    let _lock = lock(&home, how.replace)?;
    let pause = storm::begun(&home);
    if !pause.is_zero() {
        out.remark(format!("started again and again: connecting in {} s", pause.as_secs()));
        std::thread::sleep(pause);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Report::new(error.to_string()))?;
    runtime.block_on(async {
        let guests = crate::guests::open(&host, Some(host.people()), out).await?;
        guests.watch(&inputs);
        let program = Program::new(Arc::clone(&host), inputs.clone(), guests);
        let chats = Arc::new(ChatProgram::new(Arc::clone(&host), program, &inputs)?);
        let sessions = host.sessions(Arc::clone(&chats) as _, crate::extensions::slashes(&host))?;
        let _halt = halt::watch(&home, &sessions);
        let store = host.store()?;
        let over = Over {
            host: &host,
            inputs: &inputs,
            sessions: &sessions,
            program: &chats,
            insecure: how.insecure_webhooks,
            out,
        };
        let doors = match over.doors(petasos_api::is_enabled(host.settings()), (None, None)).await {
            Ok(doors) => doors,
            Err(why) => {
                out.remark(format!("error: {why}"));
                return Ok(ExitCode::from(SETTINGS_CODE));
            }
        };
        let started = Gateway::start(GatewayParts {
            store: Arc::clone(&store) as _,
            conversations: store,
            sessions,
            host: Arc::clone(&chats) as _,
            settings: Arc::clone(host.settings()),
            net: host.net(),
            platforms: PLATFORMS.iter().copied().filter(|def| def.name != "loopback").collect(),
            accounts: Vec::new(),
        });
        let gateway = match started.await {
            Ok(gateway) => Arc::new(gateway),
            Err(why) => {
                out.remark(format!("error: {why}"));
                return Ok(ExitCode::from(SETTINGS_CODE));
            }
        };
        chats.serves(&gateway);
        let _questions = match questions(&host, &gateway).await {
            Ok(questions) => questions,
            Err(why) => {
                out.remark(format!("error: approvals.route_to: {why}"));
                return Ok(ExitCode::from(SETTINGS_CODE));
            }
        };
        out.line(format!("gateway: ready; {}", served(&gateway, doors.urls())?.join(", ")));
        let wish = work((&host, &inputs), &gateway, doors, out).await?;
        storm::ended_well(&home);
        Ok(match wish {
            Wish::Restart => ExitCode::from(RESTART_CODE),
            _ => ExitCode::SUCCESS,
        })
    })
}

/// Serves until somebody wishes for an end, and lets running turns end.
async fn work(
    (host, inputs): (&Arc<Host>, &Inputs),
    gateway: &Arc<Gateway>,
    doors: Doors,
    out: Out,
) -> Result<Wish, Report> {
    let stop = CancellationToken::new();
    // Before anything fires: whoever asks whether a gateway is there must hear of this one.
    let (wishes, coming) = tokio::sync::mpsc::channel(4);
    let control = control::serve(host.settings().home(), Arc::clone(gateway), wishes);
    let _control = control.map_err(|error| Report::new(error.to_string()).code("gateway"))?;
    let firing = Firing::start(host, inputs).await?;
    let doors = doors.open(&stop);
    let _states = accounts(host, gateway);
    let _tasks = crate::board::in_gateway(host.ports(), host.settings());
    let wish = serve(coming, gateway, inputs, host.settings()).await?;
    out.line("gateway: letting running turns end");
    stop.cancel();
    for door in doors {
        door.join().await;
    }
    tokio::join!(gateway.drain(), firing.end());
    Ok(wish)
}

/// Asks about turns that no chat began in the chat that the settings name.
async fn questions(host: &Arc<Host>, gateway: &Gateway) -> Result<Option<Owned<()>>, String> {
    let Some(target) = crate::post::route_to(host.settings()) else { return Ok(None) };
    let origin = Address::chat("gateway", "approvals");
    let place = host.everywhere().resolve(target, &origin).await;
    let Destination { platform, account, chat, thread, .. } =
        place.map_err(|error| error.to_string())?;
    let asking = gateway.route_questions(Lane { platform, account, chat, thread });
    asking.map(Some).ok_or_else(|| format!("`{target}` is no chat of this gateway"))
}

/// What is served: accounts by name, and addresses; nothing at all is a mistake.
fn served(gateway: &Gateway, urls: Vec<String>) -> Result<Vec<String>, Report> {
    let mut names: Vec<String> = gateway.accounts().iter().map(|account| account.name()).collect();
    names.extend(urls);
    if names.is_empty() && PLATFORMS.is_empty() {
        return Err(Report::new("this program was built without chat platforms")
            .code("settings")
            .hint("build it with its default features"));
    }
    if names.is_empty() {
        return Err(Report::new("no platform is configured")
            .code("settings")
            .hint("`petasos gateway platforms` says what each needs"));
    }
    Ok(names)
}

/// Tells other programs when an account is in another state, where any wants to know.
fn accounts(host: &Arc<Host>, gateway: &Arc<Gateway>) -> Option<Owned<()>> {
    const LOOK: Duration = Duration::from_secs(1);
    let outgoing = host.everywhere().outgoing().ok().filter(|it| it.is_wanted("account_state"))?;
    let gateway = Arc::clone(gateway);
    Some(Owned::start(async move {
        let mut told: HashMap<String, serde_json::Value> = HashMap::new();
        loop {
            for account in gateway.accounts().iter() {
                let (name, (state, since, reconnects)) = (account.name(), account.state());
                let state = serde_json::to_value(&state).unwrap_or_default();
                if told.insert(name.clone(), state.clone()).as_ref() != Some(&state) {
                    let data = serde_json::json!({
                        "account": name, "state": state, "since_ms": since,
                        "reconnects": reconnects,
                    });
                    let text = format!("{name}: {state}");
                    outgoing.tell("account_state", &data, &text).await;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }))
}

/// The scheduler of a gateway.
struct Firing {
    scheduler: Arc<Scheduler>,
    jobs: Jobs,
    patience: Duration,
    _looking: Owned<()>,
    _halted: Owned<()>,
}

impl Firing {
    async fn start(host: &Arc<Host>, inputs: &Inputs) -> Result<Self, Report> {
        let jobs = host.scheduled();
        jobs.bind(host, inputs);
        jobs.take_over().await?;
        let scheduler = jobs.scheduler("gateway")?;
        let runs = jobs.sessions().map_err(|why| Report::new(why).code("cron"))?;
        let halted = halt::watch(host.settings().home(), &runs);
        let looking = Owned::start(Arc::clone(&scheduler).serve());
        let (patience, jobs) = (patience(host.settings()), jobs.jobs()?);
        Ok(Self { scheduler, jobs, patience, _looking: looking, _halted: halted })
    }

    /// Lets runs end, for a while.
    async fn end(self) {
        self.scheduler.drain(self.patience).await;
        // The last ends of runs are in the file of jobs, too.
        self.jobs.mirror().await;
    }
}

/// One gateway of a home at a time.
fn lock(home: &Path, replace: bool) -> Result<petasos_fs::Lock, Report> {
    let path = home.join(LOCK);
    let taken = petasos_fs::lock_within(&path, Duration::ZERO);
    if let (Err(_), true) = (&taken, replace) {
        control::call(home, "stop").map_err(|why| Report::new(why).code("gateway"))?;
        let waited = petasos_fs::lock_within(&path, REPLACED);
        return waited.map_err(|error| Report::new(error.to_string()).code("gateway"));
    }
    taken.map_err(|_| {
        let pid = control::call(home, "status").ok();
        let pid = pid.and_then(|status| status.get("pid").and_then(serde_json::Value::as_u64));
        let who = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
        Report::new(format!("a gateway of this home runs already{who}")).code("gateway").hint(
            "`petasos gateway run --replace` takes its place, `petasos gateway status` shows it",
        )
    })
}

/// Serves wishes from outside until one ends the gateway.
async fn serve(
    mut wished: tokio::sync::mpsc::Receiver<Wish>,
    gateway: &Arc<Gateway>,
    inputs: &Inputs,
    settings: &Arc<Settings>,
) -> Result<Wish, Report> {
    let broken = |error: std::io::Error| Report::new(error.to_string()).code("gateway");
    let _manager = notify(settings);
    let mut end = signal(SignalKind::terminate()).map_err(broken)?;
    let mut stop = signal(SignalKind::interrupt()).map_err(broken)?;
    let mut again = signal(SignalKind::hangup()).map_err(broken)?;
    let mut user = signal(SignalKind::user_defined1()).map_err(broken)?;
    loop {
        let wish = tokio::select! {
            _ = end.recv() => Wish::Stop,
            _ = stop.recv() => Wish::Stop,
            _ = again.recv() => Wish::Reload,
            _ = user.recv() => Wish::Reload,
            () = gateway.asked_to_restart() => Wish::Restart,
            () = gateway.asked_to_reload() => Wish::Reload,
            Some(wish) = wished.recv() => wish,
        };
        if wish != Wish::Reload {
            return Ok(wish);
        }
        let fresh = petasos_config::load(inputs).map_err(|error| error.to_string());
        let done = match fresh {
            Ok(settings) => gateway.reload(&Arc::new(settings)).await,
            Err(why) => Err(why),
        };
        match done {
            Ok(()) => tracing::info!("the settings were read again"),
            Err(why) => tracing::warn!(why, "the settings are as before"),
        }
    }
}

/// Tells a service manager that we are ready, and then that we live.
fn notify(settings: &Settings) -> Option<Owned<()>> {
    const ALIVE: Duration = Duration::from_secs(20);
    let socket = settings.variable("NOTIFY_SOCKET")?.value.expose().to_owned();
    if !socket.starts_with('/') {
        return None;
    }
    Some(Owned::start(async move {
        let Ok(sender) = UnixDatagram::unbound() else { return };
        let mut word = "READY=1";
        loop {
            if let Err(error) = sender.send_to(word.as_bytes(), &socket).await {
                tracing::debug!(%error, "the service manager does not listen");
            }
            word = "WATCHDOG=1";
            tokio::time::sleep(ALIVE).await;
        }
    }))
}
