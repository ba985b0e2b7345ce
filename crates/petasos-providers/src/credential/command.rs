//! Keys that a program prints: a command of the user's own, 1Password (`op://vault/item/field`) or
//! Bitwarden (`bw://item`, `bw://item/field`, `bws://id`).
//!
//! The resolver stays pure: it names the command whose output it lacks, the command is run here,
//! and the resolver is asked again. A program that fails stops the question: no other key is taken
//! in its place. What it printed stays in memory until it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use petasos_contract::environment::Ending;
use petasos_contract::processes::{Helper, HelperSpec, Processes};
use petasos_contract::{Secret, Settings, wait};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use crate::credential::usable::usable;
use crate::credential::{jwt, now_ms};

/// How long a program may take: a person may have to unlock a vault.
const WITHIN: Duration = Duration::from_mins(1);
/// How long what it printed is used when it says nothing about that.
const TTL_MS: u64 = 300_000;
/// How long before its end a key is replaced.
const SKEW_MS: u64 = 30_000;
const BYTES_MAX: u64 = 64 * 1024;
const WORDS_MAX: usize = 300;

/// A command that prints a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables that it is given, by name.
    pub grants: Vec<String>,
    /// How long its output is used, in seconds, when the output does not say.
    pub ttl_s: Option<u64>,
}

/// What a command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintedSecret {
    /// The key.
    pub secret: Secret,
    /// When it ends, in milliseconds since 1970.
    pub expires_at_ms: u64,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum SecretCommandError {
    /// Nothing can be started here.
    #[error("programs cannot be started here")]
    Unsupported,
    /// It did not start, took too long, or failed.
    #[error("`{program}` gave no key: {why}")]
    Failed {
        /// The program.
        program: String,
        /// What happened, with its last words.
        why: String,
    },
}

impl SecretCommand {
    /// The command behind a reference such as `op://vault/item/field`.
    pub fn of_reference(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (argv, grants) = if let Some(rest) = text.strip_prefix("op://") {
            (!rest.is_empty()).then_some(())?;
            (
                plain(&["op", "read", "--no-newline", text]),
                plain(&[
                    "OP_SERVICE_ACCOUNT_TOKEN",
                    "OP_CONNECT_HOST",
                    "OP_CONNECT_TOKEN",
                    "OP_ACCOUNT",
                ]),
            )
        } else if let Some(id) = text.strip_prefix("bws://").filter(|id| !id.is_empty()) {
            let argv = plain(&["bws", "secret", "get", id, "--output", "json"]);
            (argv, plain(&["BWS_ACCESS_TOKEN", "BWS_SERVER_URL"]))
        } else {
            let rest = text.strip_prefix("bw://").filter(|rest| !rest.is_empty())?;
            let (item, field) = rest.split_once('/').unwrap_or((rest, "password"));
            (plain(&["bw", "get", field, item, "--raw"]), plain(&["BW_SESSION"]))
        };
        Some(Self { argv, grants, ttl_s: None })
    }

    /// The command that an object of the configuration names: `api_key_command` as a list of words
    /// or as a line for the shell, with `api_key_command_env` and `api_key_ttl` beside it.
    pub fn of_fields(of: &dyn Fn(&str) -> Option<Value>) -> Option<Self> {
        let words = |value: Value| match value {
            Value::Array(words) => {
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()
            }
            _ => None,
        };
        let argv: Vec<String> = match of("api_key_command")? {
            Value::String(line) if !line.trim().is_empty() => {
                vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
            }
            other => words(other).filter(|words: &Vec<String>| !words.is_empty())?,
        };
        let grants = of("api_key_command_env").and_then(words).unwrap_or_default();
        Some(Self { argv, grants, ttl_s: of("api_key_ttl").and_then(|value| value.as_u64()) })
    }

    /// What people call it. Words of a command of the user's own may be secrets, so only its
    /// program is named.
    pub fn name(&self) -> String {
        match &self.argv[..] {
            [program, ..] if ["op", "bw", "bws"].contains(&program.as_str()) => self.argv.join(" "),
            [shell, flag, line] if shell == "/bin/sh" && flag == "-c" => {
                line.split_whitespace().next().unwrap_or(shell).to_owned()
            }
            words => words.first().cloned().unwrap_or_default(),
        }
    }
}

/// Runs commands and keeps what they printed while it lives.
pub struct SecretCommands {
    processes: Option<(Arc<dyn Processes>, Arc<Settings>)>,
    held: Mutex<BTreeMap<SecretCommand, PrintedSecret>>,
    /// One at a time: a person unlocks one vault once.
    turn: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for SecretCommands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretCommands").finish_non_exhaustive()
    }
}

impl SecretCommands {
    /// Starts programs by this port; without one, every command fails.
    pub fn new(processes: Option<(Arc<dyn Processes>, Arc<Settings>)>) -> Self {
        Self { processes, held: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Everything that still lives.
    pub fn held(&self) -> BTreeMap<SecretCommand, PrintedSecret> {
        let now = now_ms();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, printed| now + SKEW_MS < printed.expires_at_ms);
        held.clone()
    }

    /// Forgets a key that was refused; whether it was one of these.
    pub fn forget(&self, secret: &Secret) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let before = held.len();
        held.retain(|_, printed| printed.secret != *secret);
        held.len() < before
    }

    /// The key that a command prints, run unless a key that it printed still lives.
    pub async fn get(&self, command: &SecretCommand) -> Result<PrintedSecret, SecretCommandError> {
        let _turn = self.turn.lock().await;
        if let Some(printed) = self.held().remove(command) {
            return Ok(printed);
        }
        let output = self.run(command).await?;
        let printed = read(&output, command.ttl_s).map_err(|why| failed(command, why))?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(command.clone(), printed.clone());
        Ok(printed)
    }

    async fn run(&self, command: &SecretCommand) -> Result<String, SecretCommandError> {
        let Some((processes, settings)) = &self.processes else {
            return Err(SecretCommandError::Unsupported);
        };
        let mut spec = HelperSpec::new("the key command", command.argv.clone(), settings);
        spec.grants.clone_from(&command.grants);
        // Nothing of a workspace decides what is run.
        if settings.user_home().is_dir() {
            settings.user_home().clone_into(&mut spec.cwd);
        }
        let until = Instant::now() + WITHIN;
        let started = wait::until(until, "the key command", processes.start(spec)).await;
        let helper = match started {
            Ok(Ok(helper)) => helper,
            Ok(Err(error)) => return Err(failed(command, error.to_string())),
            Err(late) => return Err(failed(command, late.to_string())),
        };
        let ended = wait::until(until, "the key command", heard(helper)).await;
        let (ending, output, errors) = match ended {
            Ok(Ok(ended)) => ended,
            Ok(Err(why)) => return Err(failed(command, why)),
            Err(late) => return Err(failed(command, late.to_string())),
        };
        if ending == Ending::Code(0) {
            return Ok(output);
        }
        let words: String = errors.trim().chars().take(WORDS_MAX).collect();
        let said = if words.is_empty() { String::new() } else { format!("; it said: {words}") };
        Err(failed(command, format!("it ended with code {}{said}", ending.code())))
    }
}

fn failed(command: &SecretCommand, why: String) -> SecretCommandError {
    SecretCommandError::Failed { program: command.name(), why }
}

/// Both outputs to their end, and how it ended.
async fn heard(helper: Helper) -> Result<(Ending, String, String), String> {
    let Helper { stdin, stdout, stderr, hand } = helper;
    drop(stdin);
    let all = |from| async {
        let mut bytes = Vec::new();
        let from: Box<dyn tokio::io::AsyncRead + Send + Sync + Unpin> = from;
        let read = from.take(BYTES_MAX).read_to_end(&mut bytes).await;
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned())
    };
    let (output, errors) = tokio::join!(all(stdout), all(stderr));
    let ending = hand.exited().await.map_err(|error| error.to_string())?;
    let text = |read: std::io::Result<String>| read.map_err(|error| error.to_string());
    Ok((ending, text(output)?, text(errors)?))
}

/// The key in what was printed: alone, or in an object with when it ends.
fn read(output: &str, ttl_s: Option<u64>) -> Result<PrintedSecret, String> {
    let object = serde_json::from_str::<Value>(output).ok().filter(Value::is_object);
    let (text, stated) = match &object {
        None => (output.trim().to_owned(), None),
        Some(object) => {
            // The credential plug-ins of Kubernetes put it one level deeper.
            let inner = object.get("status").filter(|inner| inner.is_object()).unwrap_or(object);
            let names = ["token", "access_token", "api_key", "key", "value"];
            let key = names.iter().find_map(|name| inner.get(*name)?.as_str());
            (
                key.ok_or(
                    "its object has none of `token`, `access_token`, `api_key`, `key` and `value`",
                )?
                .to_owned(),
                ends(inner),
            )
        }
    };
    let good = usable(&text).map_err(|why| format!("what it printed is no key: {why}"))?;
    let lives_ms = ttl_s.map_or(TTL_MS, |seconds| seconds.saturating_mul(1000));
    let usual = || now_ms().saturating_add(lives_ms);
    let expires_at_ms = stated.or_else(|| jwt::expires_at_ms(&text)).unwrap_or_else(usual);
    Ok(PrintedSecret { secret: good.secret, expires_at_ms })
}

fn ends(object: &Value) -> Option<u64> {
    let seconds = object.get("expires_in").and_then(Value::as_u64);
    let names = ["expires_at", "expiry", "expiration", "expirationTimestamp", "expires_on"];
    seconds.map(|seconds| now_ms().saturating_add(seconds.saturating_mul(1000))).or_else(|| {
        names.iter().find_map(|name| match object.get(*name)? {
            Value::String(text) => jwt::parse_date(text),
            Value::Number(number) => {
                number.as_u64().map(|at| if at < 100_000_000_000 { at * 1000 } else { at })
            }
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_the_program_that_knows_them() {
        let argv = |text: &str| SecretCommand::of_reference(text).map(|command| command.name());
        assert_eq!(
            argv("op://Work/OpenAI/key").as_deref(),
            Some("op read --no-newline op://Work/OpenAI/key")
        );
        assert_eq!(argv("bw://openai").as_deref(), Some("bw get password openai --raw"));
        assert_eq!(argv("bw://openai/notes").as_deref(), Some("bw get notes openai --raw"));
        assert_eq!(argv("bws://1f").as_deref(), Some("bws secret get 1f --output json"));
        for text in ["op://", "bw://", "sk-op://x", "https://op.test"] {
            assert_eq!(argv(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_is_read_alone_or_with_its_end() {
        let key = |text: &str| read(text, None).map(|printed| printed.secret.expose().to_owned());
        assert_eq!(key("  tok-0123456789\n").as_deref(), Ok("tok-0123456789"));
        let object = r#"{"access_token": "tok-1", "expires_at": "2100-01-01T00:00:00Z"}"#;
        let printed = read(object, None).unwrap();
        assert_eq!((printed.secret.expose(), printed.expires_at_ms), ("tok-1", 4_102_444_800_000));
        let nested =
            r#"{"status": {"token": "tok-2", "expirationTimestamp": "2100-01-01T00:00:00Z"}}"#;
        assert_eq!(key(nested).as_deref(), Ok("tok-2"));
        for bad in ["", "two\nlines", "{}", r#"{"token": ""}"#] {
            assert!(key(bad).is_err(), "{bad}");
        }
    }
}
