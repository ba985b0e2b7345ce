//! The place itself: a carrier, what was learned about its target, and the trait on top.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::environment::{
    EnvError, Environment, Exports, Facts, Files, Health, Input, Isolation, Launch, Lifetime,
    Process, Program, SandboxLevel, Stdin,
};
use petasos_contract::path::TargetPath;
use petasos_contract::wait::{self, Owned};
use petasos_contract::{BoxFuture, CallContext};

use super::boot::{self, KEEPER, KILL, MARK, Reads};
use super::control::Link;
use super::files::RemoteFiles;
use super::frames::Word;
use super::jobs::{Handle, JobInput};
use super::loan::Loan;
use super::probe::{self, Target};
use super::process::{Parts, RemoteProcess};
use super::spare::{Spare, Spares};
use super::sweep::Sweeper;
use super::{Carrier, Order, Profile, capture};
use crate::ids;

/// How long a start may take until the shell in the target says its first word.
const START_PATIENCE: Duration = Duration::from_mins(1);

/// A program and what it is written to by.
type Shell = (RemoteProcess, Option<Box<dyn Input>>);

/// A place behind a carrier.
pub struct Remote {
    link: Link,
    profile: Profile,
    target: Target,
    facts: Facts,
    files: RemoteFiles,
    spares: Spares,
    _sweeper: Owned<()>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("profile", &self.profile).finish_non_exhaustive()
    }
}

impl Remote {
    /// Asks the target what it is, and gives it as a place.
    pub async fn open(
        carrier: Arc<dyn Carrier>,
        profile: Profile,
    ) -> Result<Arc<dyn Environment>, EnvError> {
        let target = probe::probe(&*carrier, &profile.target).await?;
        let home = |tail: &str| format!("{}{tail}", target.home.trim_end_matches('/'));
        let cwd = match profile.cwd.as_deref() {
            None | Some("" | "~") => target.home.clone(),
            Some(cwd) => match cwd.strip_prefix('~') {
                Some(tail) if tail.starts_with('/') => home(tail),
                Some(_) | None => cwd.to_owned(),
            },
        };
        let facts = Facts {
            backend: profile.backend,
            target: profile.target.clone(),
            isolation: profile.isolation,
            cwd: TargetPath::new(cwd),
            temp: TargetPath::new(target.temp.clone()),
            capabilities: profile.capabilities.iter().copied().collect(),
        };
        let name: Arc<str> = Arc::from(profile.target.as_str());
        let (sweeper, task) = Sweeper::new(&carrier, Arc::clone(&name));
        let link = Link { carrier, backend: profile.backend, target: name, sweeper };
        let files = RemoteFiles::new(link.clone());
        let spares = Spares::new(link.clone(), &target.shell);
        Ok(Arc::new(Self { link, profile, target, facts, files, spares, _sweeper: task }))
    }

    async fn start(&self, launch: &Launch, cx: &CallContext) -> Result<RemoteProcess, EnvError> {
        let confinement = self.confinement(launch)?;
        let launch = &Launch { cwd: self.within(&launch.cwd), ..launch.clone() };
        let deadline = (Instant::now() + START_PATIENCE).min(cx.deadline);
        let begun = async {
            if launch.lifetime == Lifetime::Job && launch.pty.is_none() {
                self.job(launch, &confinement).await
            } else {
                self.command(launch, &confinement).await
            }
        };
        let begun = wait::until(deadline, "the first word of the target", begun).await;
        begun.unwrap_or_else(|late| Err(self.link.lost(&late.to_string())))
    }

    fn within(&self, cwd: &TargetPath) -> TargetPath {
        let text = cwd.to_string();
        match text.strip_prefix('~') {
            Some(tail) if tail.is_empty() || tail.starts_with('/') => {
                TargetPath::new(format!("{}{tail}", self.target.home.trim_end_matches('/')))
            }
            Some(_) | None => self.facts.cwd.join(cwd.as_path()),
        }
    }

    /// A level is for this machine; elsewhere distance stands in for it, or it is said.
    fn confinement(&self, launch: &Launch) -> Result<String, EnvError> {
        let level = launch.sandbox.level;
        if level == SandboxLevel::Off {
            return Ok("off".to_owned());
        }
        let backend = self.profile.backend;
        if self.profile.isolation == Isolation::Apart {
            return Ok(format!("apart ({backend} cannot touch this machine)"));
        }
        let why = format!("the {backend} terminal cannot confine a command further");
        if launch.sandbox.required {
            return Err(EnvError::Sandbox { level: level.as_str(), why });
        }
        Ok(format!("off ({} cannot be attained: {why})", level.as_str()))
    }

    /// The files that the command may use. They are taken back when the target sees the end of an
    /// input, so where it does not see that they stay here.
    async fn loan(&self, launch: &Launch) -> Result<Option<Loan>, EnvError> {
        if launch.lent.is_empty() {
            return Ok(None);
        }
        if !self.profile.lifeline {
            let backend = self.profile.backend;
            tracing::warn!(backend, "files are not lent there: nothing would take them back");
            return Ok(None);
        }
        Loan::take(&*self.link.carrier, &launch.lent).await
    }

    /// What the command is given, on top of what every program there has.
    fn variables(&self, launch: &Launch) -> Exports {
        let mut variables = self.target.login.clone();
        variables.extend(self.profile.base.clone());
        let kind = if launch.pty.is_some() { "xterm-256color" } else { "dumb" };
        variables.insert("TERM".to_owned(), kind.to_owned());
        variables.extend(launch.exports.clone());
        for name in &launch.unset {
            variables.remove(name);
        }
        variables
    }

    fn parts(&self, launch: &Launch, variables: &Exports, confined: &str) -> Parts {
        let mut given = self.target.plain.clone();
        given.extend(variables.clone());
        for name in &launch.unset {
            given.remove(name);
        }
        Parts {
            link: self.link.clone(),
            nonce: ids::hex(12),
            mark: ids::hex(8),
            given,
            keeps_state: matches!(launch.program, Program::Shell(_)),
            stderr: launch.stderr,
            is_terminal: launch.pty.is_some(),
            confinement: confined.to_owned(),
        }
    }

    async fn command(&self, launch: &Launch, confined: &str) -> Result<RemoteProcess, EnvError> {
        let variables = self.variables(launch);
        let reads = match &launch.stdin {
            _ if launch.pty.is_some() => Reads::Rest,
            Stdin::Closed if self.profile.lifeline => Reads::Lifeline,
            Stdin::Closed => Reads::Nothing,
            Stdin::Bytes(_) | Stdin::Open => Reads::Rest,
        };
        let (mut process, mut input) = match self.ahead(launch, reads, &variables, confined).await {
            Some(shell) => shell,
            None => self.fresh(launch, reads, &variables, confined).await?,
        };
        if reads == Reads::Lifeline {
            process.hold(input.take());
        }
        match process.begin().await? {
            Word::Began(pid, _) => process.begun(pid, None),
            word => return Err(refused(word, launch)),
        }
        if self.profile.ahead {
            self.spares.refill();
        }
        if let (Stdin::Bytes(bytes), Some(input), true) =
            (&launch.stdin, &mut input, launch.pty.is_some())
        {
            input.write(bytes).await?;
        }
        process.types(input);
        Ok(process)
    }

    /// A shell that waited and now has its orders; `None` when there is none that answers.
    async fn ahead(
        &self,
        launch: &Launch,
        reads: Reads,
        variables: &Exports,
        confined: &str,
    ) -> Option<Shell> {
        // Given bytes are fed beside the reading of output, which only a fresh start does.
        let given = matches!(launch.stdin, Stdin::Bytes(_)) || reads == Reads::Nothing;
        if !self.profile.ahead || given || launch.pty.is_some() {
            return None;
        }
        let Spare { stream, mut input, nonce, mark } = self.spares.take().await?;
        let parts = Parts { nonce, mark, ..self.parts(launch, variables, confined) };
        let orders = boot::orders(&parts.nonce, launch, variables, reads);
        let mut process = RemoteProcess::new(stream, parts);
        // Orders that did not go out whole are never obeyed.
        if !process.is_ready(&mut *input).await || input.write(&orders).await.is_err() {
            process.never_began();
            return None;
        }
        Some((process, Some(input)))
    }

    /// A shell that is started now.
    async fn fresh(
        &self,
        launch: &Launch,
        reads: Reads,
        variables: &Exports,
        confined: &str,
    ) -> Result<Shell, EnvError> {
        let parts = self.parts(launch, variables, confined);
        let mut stdin = boot::greeting(&parts.nonce);
        stdin.extend(boot::orders(&parts.nonce, launch, variables, reads));
        let shell = self.target.shell.as_str();
        let mut order = if let Some(size) = launch.pty {
            let temp = self.target.temp.trim_end_matches('/');
            let file = format!("{temp}/.petasos-{}", ids::hex(8));
            self.put(&file, stdin).await?;
            let text = boot::at_terminal(size);
            Order { pty: launch.pty, open: true, ..Order::of_shell(shell, &text, &[&file]) }
        } else {
            if let Stdin::Bytes(bytes) = &launch.stdin {
                stdin.extend_from_slice(bytes);
            }
            let open = reads == Reads::Lifeline || launch.stdin == Stdin::Open;
            Order { stdin, open, ..Order::of_shell(shell, &boot::command(), &[KILL]) }
        };
        order.variables = vec![(MARK.to_owned(), parts.mark.clone())];
        let stream = self.link.carrier.start(order).await?;
        let mut process = RemoteProcess::new(stream, parts);
        let input = process.take_input();
        Ok((process, input))
    }

    async fn job(&self, launch: &Launch, confined: &str) -> Result<RemoteProcess, EnvError> {
        let variables = self.variables(launch);
        let parts = Parts { keeps_state: false, ..self.parts(launch, &variables, confined) };
        let folder =
            format!("{}/.petasos-jobs/{}", self.target.temp.trim_end_matches('/'), parts.mark);
        let arguments = [folder.as_str(), &parts.mark, KEEPER, &self.target.shell];
        let mut stdin = boot::greeting(&parts.nonce);
        stdin.extend(boot::orders(&parts.nonce, launch, &variables, Reads::Nothing));
        let order = Order {
            stdin,
            open: self.profile.lifeline,
            ..Order::script(&boot::job(self.profile.lifeline), &arguments)
        };
        let mark = parts.mark.clone();
        let stream = self.link.carrier.start(order).await?;
        let mut process = RemoteProcess::new(stream, parts);
        let input = process.take_input();
        process.hold(input);
        let (pid, started) = match process.begin().await? {
            Word::Began(pid, started) => (pid, started),
            word => return Err(refused(word, launch)),
        };
        let target = self.profile.target.clone();
        let handle = Handle { target, folder: folder.clone(), mark, pid, started };
        process.begun(pid, serde_json::to_string(&handle).ok());
        process.types(Some(Box::new(JobInput { link: self.link.clone(), folder, pid })));
        Ok(process)
    }

    async fn follow(&self, handle: Handle) -> Result<Option<Box<dyn Process>>, EnvError> {
        let launch = Launch::of(Program::Argv(Vec::new()), self.facts.cwd.clone());
        let parts = Parts {
            keeps_state: false,
            mark: handle.mark.clone(),
            ..self.parts(&launch, &Exports::new(), "as it was started")
        };
        let (pid, started) = (handle.pid.to_string(), handle.started.to_string());
        let arguments = [handle.folder.as_str(), &handle.mark, &pid, &started];
        let order = Order {
            stdin: boot::greeting(&parts.nonce),
            open: self.profile.lifeline,
            ..Order::script(&boot::follow(self.profile.lifeline), &arguments)
        };
        let stream = self.link.carrier.start(order).await?;
        let mut process = RemoteProcess::new(stream, parts);
        let input = process.take_input();
        process.hold(input);
        let deadline = Instant::now() + START_PATIENCE;
        let first = wait::until(deadline, "a job to be found", process.begin()).await;
        let first = first.map_err(|late| self.link.lost(&late.to_string()))??;
        if !matches!(first, Word::Began(..)) {
            return Ok(None);
        }
        let (link, folder, pid) = (self.link.clone(), handle.folder.clone(), handle.pid);
        process.begun(pid, serde_json::to_string(&handle).ok());
        process.types(Some(Box::new(JobInput { link, folder, pid })));
        Ok(Some(Box::new(process)))
    }

    /// Orders that cannot come by input, because a terminal is there.
    async fn put(&self, file: &str, bytes: Vec<u8>) -> Result<(), EnvError> {
        let text = "umask 077; cat >\"$1\" && [ \"$(wc -c <\"$1\")\" -eq \"$2\" ]";
        let size = bytes.len().to_string();
        let order = Order { stdin: bytes, ..Order::script(text, &[file, &size]) };
        let done = capture(&*self.link.carrier, order, START_PATIENCE).await?;
        if done.code == 0 {
            return Ok(());
        }
        let why = format!("its orders cannot be written to `{file}`: {}", done.errors);
        Err(EnvError::NotStarted { what: "the command".to_owned(), why })
    }
}

/// How often a start that came to nothing is tried again: a server that takes only so many
/// commands at once refuses more than one before it is known how many.
const AGAIN_MAX: u32 = 3;

fn refused(word: Word, launch: &Launch) -> EnvError {
    let what = "the command".to_owned();
    match word {
        Word::NoCwd(why) => EnvError::Cwd { path: launch.cwd.clone(), why },
        Word::NotKept(why) => EnvError::NotStarted { what, why },
        other => EnvError::NotStarted { what, why: format!("it answered {other:?}") },
    }
}

impl Environment for Remote {
    fn home(&self, _: &CallContext) -> TargetPath {
        TargetPath::new(self.target.home.clone())
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn spawn<'a>(
        &'a self,
        launch: Launch,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Process>, EnvError>> {
        Box::pin(async move {
            self.link.carrier.before().await?;
            let loan = self.loan(&launch).await?;
            let mut started = self.start(&launch, cx).await;
            for _ in 0..AGAIN_MAX {
                // Nothing has run for certain, so it may be tried again.
                let Err(why @ EnvError::NotStarted { .. }) = &started else { break };
                self.link.carrier.revive(why).await?;
                started = self.start(&launch, cx).await;
            }
            let mut process = started?;
            process.borrows(loan);
            Ok(Box::new(process) as Box<dyn Process>)
        })
    }

    fn find<'a>(
        &'a self,
        handle: &'a str,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Process>>, EnvError>> {
        Box::pin(async move {
            let handle: Handle = serde_json::from_str(handle)
                .map_err(|error| EnvError::Settings(format!("this is no handle: {error}")))?;
            // Another target has no such job.
            if handle.target != self.profile.target {
                return Ok(None);
            }
            self.follow(handle).await
        })
    }

    fn files(&self) -> &dyn Files {
        &self.files
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(async move {
            match self.link.carrier.health().await {
                Health::Ready { detail } => {
                    Health::Ready { detail: format!("{detail}, {}", self.target.about) }
                }
                other => other,
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            self.spares.close().await;
            self.link.sweeper.done().await;
            self.link.carrier.close().await
        })
    }
}
