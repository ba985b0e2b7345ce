//! One question to a program instead of an address: started for it, talked to, and gone with it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use petasos_contract::model::{Reason, Reply};
use petasos_contract::processes::{Helper, HelperSpec};
use petasos_contract::wait::{self, Owned};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::attempt::{Attempt, Broken};
use crate::failure::Failure;
use crate::timeouts::Timeouts;
use crate::transport::decode::{DecodeError, Decoder, Framing};
use crate::transport::lines::Lines;
use crate::transport::program::{Room, Talk};
use crate::transport::{Program, TransportDef};

/// How long a program may take to come up or to take a message.
const PROMPT_WITHIN: Duration = Duration::from_secs(30);
/// How much of its last words is kept.
const LAST_WORDS: usize = 2_000;

impl Attempt<'_> {
    /// Asks a program.
    pub(super) async fn run_program(
        &self,
        transport: &TransportDef,
        program: &Program,
    ) -> Result<Reply, Box<Broken>> {
        let alone = |failure: Failure| self.broken(failure, None);
        let wire = (transport.encode)(self.prompt, self.target)
            .map_err(|error| alone(Failure::new(Reason::Format, error.to_string())))?;
        let turn: Value = serde_json::from_slice(&wire.body)
            .map_err(|error| alone(Failure::new(Reason::Format, error.to_string())))?;
        if let Some(text) = program.about_tools.filter(|_| !self.prompt.tools.is_empty()) {
            self.client.tell_once(format!("program {}", transport.name), text, self.cx);
        }
        let settings = &self.cx.settings;
        let folder = self.cx.workspace.display().to_string();
        let room = Room {
            folder: &folder,
            writes_workspace: settings.text("terminal.sandbox") == Some("workspace"),
            target: self.target,
            turn: &turn,
        };
        let helper = self.start(program).await.map_err(|failure| {
            let advice = Some(failure.message.clone());
            alone(Failure { advice, ..failure })
        })?;
        let mut decoder = (transport.decoder)(self.target, Framing::Lines);
        let last_words = LastWords::default();
        let mut exchange = Exchange {
            attempt: self,
            transport,
            decoder: decoder.as_mut(),
            talk: Talk::new(program, room),
            lines: Lines::default(),
        };
        let read = exchange.hold(helper, &last_words).await;
        let concluded = self.conclude(transport, decoder.as_mut(), read);
        concluded.map_err(|mut broken| {
            explain(&mut broken.failure, program, &last_words.text());
            broken
        })
    }

    async fn start(&self, program: &Program) -> Result<Helper, Failure> {
        let missing = |line: String| Failure::new(Reason::NotConfigured, line);
        let launch = self.runtime.launch.as_ref();
        let launch = launch.ok_or_else(|| missing("no program is named for it".to_owned()))?;
        let processes = self.client.processes.as_ref();
        let processes =
            processes.ok_or_else(|| missing("programs cannot be started here".to_owned()))?;
        let argv = std::iter::once(&launch.command).chain(&launch.args).cloned().collect();
        let name = format!("provider {}", self.target.provider);
        let mut spec = HelperSpec::new(name, argv, &self.cx.settings);
        spec.cwd = self.cx.workspace.to_path_buf();
        spec.grants = program.grants.iter().map(|name| (*name).to_owned()).collect();
        let by = Instant::now() + PROMPT_WITHIN;
        match wait::until(by, "a program to start", processes.start(spec)).await {
            Ok(Ok(helper)) => Ok(helper),
            Ok(Err(error)) => Err(missing(error.to_string())),
            Err(late) => Err(Failure::new(Reason::Timeout, late.to_string())),
        }
    }
}

/// Adds what a person can do about it, and what the program said last.
fn explain(failure: &mut Failure, program: &Program, said: &str) {
    if !said.is_empty() && failure.status.is_none() {
        failure.message = format!("{}; it said: {said}", failure.message);
    }
    failure.advice = match failure.reason {
        Reason::Auth => Some(program.login.to_owned()),
        Reason::ModelNotFound | Reason::NotConfigured => Some(failure.message.clone()),
        _ => None,
    };
}

/// A conversation with a program in progress.
struct Exchange<'a> {
    attempt: &'a Attempt<'a>,
    transport: &'a TransportDef,
    decoder: &'a mut dyn Decoder,
    talk: Talk<'a>,
    lines: Lines,
}

impl Exchange<'_> {
    /// Talks until the turn is over, the program ends, or somebody breaks it off.
    async fn hold(&mut self, helper: Helper, last: &LastWords) -> Result<(), Box<Failure>> {
        let Helper { mut stdin, mut stdout, stderr, hand } = helper;
        let listening = Owned::start(last.clone().listen(stderr));
        let timeouts = self.attempt.timeouts();
        let deadline = Instant::now() + timeouts.whole;
        let mut say = self.talk.begin().map_err(|error| self.fault(&error))?;
        let mut piece = vec![0; 64 * 1024];
        while !self.decoder.is_done() {
            let text: String =
                say.drain(..).flat_map(|message| [message.to_string(), "\n".to_owned()]).collect();
            if !text.is_empty() {
                tell(&mut stdin, &text).await?;
            }
            let count = hear(&mut stdout, &mut piece, (&timeouts, deadline)).await?;
            if count == 0 {
                // What it complained about before it ended is worth a moment.
                let by = Instant::now() + Duration::from_secs(1);
                let rest = wait::until(by, "a program's last words", listening.join()).await;
                tracing::debug!(in_time = rest.is_ok(), "a program ended before its answer did");
                return if self.talk.is_begun() { Ok(()) } else { Err(self.dumb()) };
            }
            say = self.take(piece.get(..count).unwrap_or_default())?;
        }
        // Its whole tree ends with this.
        drop(hand);
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Vec<Value>, Box<Failure>> {
        let mut deltas = Vec::new();
        let pushed = self.decoder.push(bytes, &mut deltas);
        self.attempt.tell(&mut deltas);
        pushed.map_err(|error| self.fault(&error))?;
        let mut say = Vec::new();
        let talk = &mut self.talk;
        let heard = self.lines.push(bytes, |line| {
            say.extend(talk.hear(line)?);
            Ok::<(), DecodeError>(())
        });
        heard.map_err(|error| self.fault(&error))?;
        Ok(say)
    }

    /// A program that never spoke the protocol will not speak it the next time either.
    fn dumb(&self) -> Box<Failure> {
        let launch = self.attempt.runtime.launch.as_ref();
        let program = launch.map(|launch| format!("{} {}", launch.command, launch.args.join(" ")));
        let line = format!(
            "`{}` ended without an answer; check that it is installed, and its arguments",
            program.unwrap_or_default()
        );
        Box::new(Failure::new(Reason::NotConfigured, line))
    }

    fn fault(&self, error: &DecodeError) -> Box<Failure> {
        Box::new(crate::failure::of_decoding(self.transport, error, self.attempt.size))
    }
}

async fn tell(
    stdin: &mut (impl tokio::io::AsyncWrite + Unpin),
    text: &str,
) -> Result<(), Box<Failure>> {
    let broken = |why: String| Box::new(Failure::new(Reason::Timeout, why));
    let written = async {
        stdin.write_all(text.as_bytes()).await?;
        stdin.flush().await
    };
    match wait::until(Instant::now() + PROMPT_WITHIN, "a program to listen", written).await {
        // A program that ended has said why on its other pipes, which are read next.
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Ok(Err(error)) => Err(broken(format!("the program does not listen: {error}"))),
        Err(late) => Err(broken(late.to_string())),
    }
}

async fn hear(
    stdout: &mut (impl AsyncRead + Unpin),
    piece: &mut [u8],
    (timeouts, deadline): (&Timeouts, Instant),
) -> Result<usize, Box<Failure>> {
    let silent = |why: String| Box::new(Failure::new(Reason::Timeout, why));
    let by = deadline.min(Instant::now() + timeouts.idle);
    match wait::until(by, "a program's next word", stdout.read(piece)).await {
        Ok(Ok(count)) => Ok(count),
        Ok(Err(error)) => Err(silent(format!("the program broke off: {error}"))),
        Err(late) => Err(silent(late.to_string())),
    }
}

/// The end of what a program wrote to its error output.
#[derive(Debug, Clone, Default)]
struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    async fn listen(self, mut stderr: impl AsyncRead + Unpin) {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut piece).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(piece.get(..count).unwrap_or_default());
            let surplus = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..surplus);
        }
    }

    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}
