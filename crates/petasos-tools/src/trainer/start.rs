//! A run: three programs in order, each ready before the next begins, owned by this process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::processes::{Helper, HelperHand, HelperSpec, Processes};
use petasos_contract::wait::Owned;
use petasos_contract::{Args, CallContext, Settings};
use petasos_fs::{Lock, Mode};
use petasos_vendors::service::{Sent, Service};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::locked::{self, Servers};
use super::records::now_s;
use super::{Choice, Environment, Place, Record, Runs, Seat, kept, line, word};
use crate::trouble::Trouble;

/// Nobody knows what hours of training cost; it is asked about, whatever the limit.
const CENTS: u32 = 10_000;
/// How long a server of the run may take to answer.
const READY: Duration = Duration::from_mins(10);
/// An environment that lives so long has connected.
const SETTLED: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(250);
const GRACE: Duration = Duration::from_secs(10);
/// The largest log of one program.
const LOG_MAX: u64 = 64 << 20;

/// The programs of a run and the variables each is given, in the order in which they start.
struct Part {
    name: &'static str,
    argv: Vec<String>,
    keys: &'static [&'static str],
    /// The server that answers when it is ready.
    ready: Option<String>,
}

fn parts(place: &Place, servers: &Servers, file: &str, config: &str) -> [Part; 3] {
    let python = word(&place.python);
    let beside = place.python.with_file_name("run-api");
    let api = if beside.is_file() { word(&beside) } else { "run-api".to_owned() };
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let port = servers.rollouts.trim_end_matches('/').rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| *port != "8000" && port.parse::<u16>().is_ok());
    let api = match port {
        Some(port) => words(&[&api, "--port", port]),
        None => vec![api],
    };
    [
        Part { name: "api", argv: api, keys: &[], ready: Some(servers.rollouts.clone()) },
        Part {
            name: "trainer",
            argv: words(&[&python, "launch_training.py", "--config", config]),
            keys: &["TINKER_API_KEY", "WANDB_API_KEY"],
            ready: Some(servers.inference.clone()),
        },
        Part {
            name: "env",
            argv: words(&[&python, file, "serve", "--config", config]),
            keys: &["WANDB_API_KEY"],
            ready: None,
        },
    ]
}

/// What a start would do: three programs, the services they reach, and money.
pub(crate) fn effects(_: &Args, cx: &CallContext) -> Effects {
    let Ok(place) = Place::of(&cx.settings) else { return Effects::none() };
    let chosen = Choice::read(&place).ok().and_then(|choice| choice.environment);
    let Some(chosen) = chosen else { return Effects::none() };
    let known = super::scan(&place.environments());
    let file = known.into_iter().find(|it| it.name == chosen).map(|it| it.file_path);
    let config = word(&place.kept.join("configs").join("run_NEW.yaml"));
    let parts = parts(&place, &Servers::of(&cx.settings), &file.unwrap_or_default(), &config);
    let commands = parts
        .into_iter()
        .map(|part| Effect::Command { script: line(&part.argv), cwd: place.folder.clone() });
    let others = [Effect::Reach("api.wandb.ai".to_owned()), Effect::Spend { cents: CENTS }];
    commands.chain(others).collect()
}

/// Starts a run. Comes back before its programs are ready.
pub(crate) fn launch(seat: &Seat<'_>) -> Result<Value, Trouble> {
    let (choice, environment) = seat.chosen()?;
    let processes = seat.ports.processes.clone();
    let processes = processes
        .ok_or_else(|| Trouble::new("missing_setup", "programs cannot be started here"))?;
    let mut bits = [0_u8; 4];
    getrandom::fill(&mut bits).map_err(|error| Trouble::new("upstream", error.to_string()))?;
    let run_id = format!("{:08x}", u32::from_be_bytes(bits));
    let name = format!("{}-{run_id}", environment.name);
    let servers = Servers::of(&seat.cx.settings);
    let record = written(&seat.place, &choice, &environment, &servers, (&run_id, &name))?;
    let runs = Runs::of(&seat.place);
    let lock = runs.own(&run_id)?;
    runs.add(record.clone())?;
    let config = word(&record.config_path);
    let run = Run {
        parts: parts(&seat.place, &servers, &environment.file_path, &config),
        place: seat.place.clone(),
        settings: Arc::clone(&seat.cx.settings),
        processes,
        runs,
        id: run_id.clone(),
        lock,
    };
    let mut owned = seat.owned.lock();
    owned.retain(|life| !life.is_finished());
    owned.push(Owned::start(run.live()));
    drop(owned);
    Ok(json!({
        "run_id": run_id,
        "status": record.status,
        "environment": record.environment,
        "config": record.config,
        "wandb_project": record.wandb_project,
        "wandb_run_name": record.wandb_run_name,
        "config_path": record.config_path,
        "logs": record.logs,
        "message": "training starts; ask rl_check_status, at most every 30 minutes",
    }))
}

fn written(
    place: &Place,
    choice: &Choice,
    environment: &Environment,
    servers: &Servers,
    (run_id, name): (&str, &str),
) -> Result<Record, Trouble> {
    let config_path = place.kept.join("configs").join(format!("run_{run_id}.yaml"));
    // YAML that is JSON, so that nothing in a value can be read as something else.
    let text = serde_json::to_vec_pretty(&locked::run(&choice.config, servers, name))
        .map_err(|error| Trouble::new("upstream", error.to_string()))?;
    petasos_fs::write(&config_path, &text, Mode::Exactly(0o600))
        .map_err(|error| kept(&error.into()))?;
    let logs = ["api", "trainer", "env"].map(|part| (part.to_owned(), place.log(part, run_id)));
    Ok(Record {
        run_id: run_id.to_owned(),
        environment: environment.name.clone(),
        status: "starting".to_owned(),
        config: choice.config.clone(),
        wandb_project: locked::project(&choice.config).to_owned(),
        wandb_run_name: name.to_owned(),
        config_path,
        logs: logs.into_iter().collect(),
        started_s: now_s(),
        ..Record::default()
    })
}

/// A run and what it needs.
struct Run {
    parts: [Part; 3],
    place: Place,
    settings: Arc<Settings>,
    processes: Arc<dyn Processes>,
    runs: Runs,
    id: String,
    /// Says that the owner lives.
    lock: Lock,
}

/// A program of the run that was started.
struct Live {
    name: &'static str,
    hand: Arc<dyn HelperHand>,
    _logs: [Owned<()>; 2],
}

impl Run {
    async fn live(self) {
        let mut live = Vec::new();
        let end = self.act(&mut live).await;
        // The last that came goes first.
        for part in live.iter().rev() {
            if let Err(error) = part.hand.kill(GRACE).await {
                self.note(|record| record.error = Some(error.to_string()));
            }
        }
        self.note(|record| {
            record.ended_s = Some(now_s());
            record.status = match &end {
                End::Completed => "completed".to_owned(),
                End::Stopped => "stopped".to_owned(),
                End::Failed(_) => "failed".to_owned(),
            };
            if let End::Failed(why) = end {
                record.error = Some(why);
            }
            for part in &live {
                record.processes.entry(part.name.to_owned()).and_modify(|said| {
                    if said == "running" {
                        "ended with the run".clone_into(said);
                    }
                });
            }
        });
        drop(self.lock);
    }

    /// Starts the parts in order and watches them.
    async fn act(&self, live: &mut Vec<Live>) -> End {
        for part in &self.parts {
            match self.start(part).await {
                Ok(started) => live.push(started),
                Err(why) => return End::Failed(format!("{}: {why}", part.name)),
            }
            self.note(|record| {
                record.processes.insert(part.name.to_owned(), "running".to_owned());
            });
            if let Some(end) = self.until_ready(part, live).await {
                return end;
            }
        }
        self.note(|record| "running".clone_into(&mut record.status));
        loop {
            if let Some(end) = self.look(live).await {
                return end;
            }
        }
    }

    /// Waits for a part to answer; an end when one of them dies or somebody stops the run.
    async fn until_ready(&self, part: &Part, live: &[Live]) -> Option<End> {
        let begun = Instant::now();
        let service = part.ready.as_ref().map(|url| Service::new("trainer", url, &self.settings));
        loop {
            if let Some(end) = self.look(live).await {
                return Some(end);
            }
            match &service {
                None if begun.elapsed() >= SETTLED => return None,
                None => {}
                Some(Err(error)) => return Some(End::Failed(error.message.clone())),
                Some(Ok(service)) => {
                    let answer = service.ask(petasos_net::Method::GET, "/", Sent::default()).await;
                    if answer.is_ok() {
                        return None;
                    }
                }
            }
            if begun.elapsed() >= READY {
                let why = format!("{} did not answer within {} s", part.name, READY.as_secs());
                return Some(End::Failed(why));
            }
        }
    }

    /// Whether the run is over. Takes a moment.
    async fn look(&self, live: &[Live]) -> Option<End> {
        if self.runs.one(&self.id).is_ok_and(|record| record.is_to_stop) {
            return Some(End::Stopped);
        }
        let exits = live.iter().map(|part| async {
            let ending = part.hand.exited().await;
            let code = ending.map_or_else(|error| error.to_string(), |it| it.code().to_string());
            (part.name, code)
        });
        let exits = exits.map(Box::pin).collect::<Vec<_>>();
        if exits.is_empty() {
            return None;
        }
        let first = futures::future::select_all(exits);
        let ((name, code), ..) = tokio::time::timeout(LOOK, first).await.ok()?;
        self.note(|record| {
            record.processes.insert(name.to_owned(), format!("exited ({code})"));
        });
        // The server of the groups has no reason to end before the others.
        Some(if code == "0" && name != "api" {
            End::Completed
        } else {
            End::Failed(format!("{name} ended with {code}: see its log"))
        })
    }

    async fn start(&self, part: &Part) -> Result<Live, String> {
        let name = format!("{} of training run {}", part.name, self.id);
        let mut spec = HelperSpec::new(name, part.argv.clone(), &self.settings);
        spec.cwd.clone_from(&self.place.folder);
        spec.env.insert("PYTHONUNBUFFERED".to_owned(), "1".to_owned());
        spec.env.insert("PYTHONPATH".to_owned(), word(&self.place.folder));
        spec.grants = part.keys.iter().map(|name| (*name).to_owned()).collect();
        let helper = self.processes.start(spec).await.map_err(|error| error.to_string())?;
        let Helper { stdin, stdout, stderr, hand } = helper;
        drop(stdin);
        let log = self.place.log(part.name, &self.id);
        let logs = [Owned::start(keep(stdout, log.clone())), Owned::start(keep(stderr, log))];
        Ok(Live { name: part.name, hand, _logs: logs })
    }

    /// A record that cannot be written does not end hours of training.
    fn note(&self, change: impl FnOnce(&mut Record)) {
        self.runs.change(&self.id, change).unwrap_or_default();
    }
}

enum End {
    Completed,
    Stopped,
    Failed(String),
}

/// Keeps what a program says, up to a limit; reads on behind it so that nobody is held up.
async fn keep(mut from: impl AsyncRead + Unpin, log: PathBuf) {
    if let Some(folder) = log.parent() {
        tokio::fs::create_dir_all(folder).await.unwrap_or_default();
    }
    let mut options = tokio::fs::OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let mut file = options.open(&log).await.ok();
    let (mut piece, mut written) = (vec![0_u8; 8192], 0_u64);
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        written = written.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        if let Some(open) = file.as_mut().filter(|_| written <= LOG_MAX) {
            let bytes = piece.get(..read).unwrap_or_default();
            if open.write_all(bytes).await.is_err() || open.flush().await.is_err() {
                file = None;
            }
        }
    }
}
