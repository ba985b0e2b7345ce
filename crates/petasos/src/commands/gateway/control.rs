//! The control socket of a running gateway: one JSON line asks, one answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as ClientStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::wait::Owned;
use petasos_gateway::Gateway;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use crate::command::Session;
use crate::out::Style;
use crate::post::gateway_socket;
use crate::report::Report;

const ANSWER: Duration = Duration::from_secs(10);
/// Nothing runs.
const STOPPED_CODE: u8 = 3;
/// Something needs a person.
const DEGRADED_CODE: u8 = 4;

/// What somebody outside wants of a running gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// To end.
    Stop,
    /// To end and be started again.
    Restart,
    /// To read the settings again.
    Reload,
}

/// Listens until it is dropped.
pub(super) fn serve(
    home: &Path,
    gateway: Arc<Gateway>,
    wishes: mpsc::Sender<Wish>,
) -> std::io::Result<Owned<()>> {
    let path = gateway_socket(home);
    // Whoever left it is gone: the lock of the gateway is ours.
    if let Err(error) = std::fs::remove_file(&path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(Owned::start(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let served = serve_one(stream, &gateway, &wishes);
            if tokio::time::timeout(ANSWER, served).await.is_err() {
                tracing::debug!("somebody at the control socket was too slow");
            }
        }
    }))
}

async fn serve_one(stream: UnixStream, gateway: &Gateway, wishes: &mpsc::Sender<Wish>) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = tokio::io::BufReader::new(reader).lines();
    let Ok(Some(line)) = lines.next_line().await else { return };
    let asked: Value = serde_json::from_str(&line).unwrap_or_default();
    let wish = match asked.get("do").and_then(Value::as_str) {
        Some("status" | "metrics") => None,
        Some("stop") => Some(Wish::Stop),
        Some("restart") => Some(Wish::Restart),
        Some("reload") => Some(Wish::Reload),
        _ => {
            let text = json!({ "error": "ask for status, stop, restart or reload" }).to_string();
            drop(writer.write_all(text.as_bytes()).await);
            return;
        }
    };
    let metrics = asked.get("do").and_then(Value::as_str) == Some("metrics");
    let answer = match wish {
        Some(wish) => json!({ "ok": wishes.send(wish).await.is_ok() }),
        None => match gateway.status().await {
            Ok(status) if metrics => json!({ "metrics": status.metrics() }),
            Ok(status) => serde_json::to_value(&status).unwrap_or_default(),
            Err(error) => json!({ "error": error.to_string() }),
        },
    };
    let text = format!("{answer}\n");
    if let Err(error) = writer.write_all(text.as_bytes()).await {
        tracing::debug!(%error, "whoever asked is gone");
    }
}

/// Asks the gateway of a home.
pub(super) fn call(home: &Path, what: &str) -> Result<Value, String> {
    let stream = ClientStream::connect(gateway_socket(home))
        .map_err(|_| "it is not running; `petasos gateway run` starts it".to_owned())?;
    let ask = || -> std::io::Result<String> {
        stream.set_read_timeout(Some(ANSWER))?;
        (&stream).write_all(format!("{}\n", json!({ "do": what })).as_bytes())?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        Ok(line)
    };
    let line = ask().map_err(|error| format!("the gateway does not answer: {error}"))?;
    serde_json::from_str(&line).map_err(|error| format!("the gateway answered strangely: {error}"))
}

/// `petasos gateway stop|restart|reload`.
pub(super) fn ask(session: &mut Session, what: &str) -> Result<ExitCode, Report> {
    let out = session.out;
    let home = session.host.get()?.settings().home().to_owned();
    let answer = call(&home, what).map_err(|why| Report::new(why).code("gateway"))?;
    if out.is_json() {
        out.value(&answer);
    } else {
        out.line(format!("gateway: {what} asked for"));
    }
    Ok(ExitCode::SUCCESS)
}

/// `petasos gateway metrics`.
pub(super) fn metrics(session: &mut Session) -> Result<ExitCode, Report> {
    let home = session.host.get()?.settings().home().to_owned();
    let answer = call(&home, "metrics").map_err(|why| Report::new(why).code("gateway"))?;
    let text = answer.get("metrics").and_then(Value::as_str).unwrap_or_default();
    session.out.line(text.trim_end());
    Ok(ExitCode::SUCCESS)
}

/// `petasos gateway status`.
pub(super) fn status(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let home = session.host.get()?.settings().home().to_owned();
    let status = match call(&home, "status") {
        Ok(status) => status,
        Err(why) => {
            let stopped = crate::halt::stopped(&home);
            if out.is_json() {
                out.value(&json!({ "running": false, "why": why, "stopped": stopped }));
            } else {
                out.line(format!("gateway: {why}"));
                if let Some(why) = &stopped {
                    out.line(why);
                }
                out.line(super::variables_go(session.host.get()?.settings()));
            }
            return Ok(ExitCode::from(STOPPED_CODE));
        }
    };
    let accounts = status.get("accounts").and_then(Value::as_array).cloned().unwrap_or_default();
    let state = |account: &Value| {
        account.get("state").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let well =
        accounts.iter().all(|account| matches!(state(account).as_str(), "connected" | "paused"));
    let stopped = status.get("stopped").and_then(Value::as_str);
    if out.is_json() {
        out.value(&status);
    } else {
        let text = |value: Option<&Value>| value.map(ToString::to_string).unwrap_or_default();
        out.line(format!(
            "gateway: process {}, version {}",
            text(status.get("pid")),
            text(status.get("version"))
        ));
        for account in &accounts {
            let word = state(account);
            let style = if word == "connected" { Style::Good } else { Style::Warn };
            let part =
                |key: &str| account.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            out.line(format!(
                "  {}/{} {} {}",
                part("platform"),
                part("account"),
                out.paint(style, &word),
                part("why")
            ));
            let notice = part("notice");
            if !notice.is_empty() {
                out.line(format!("    {notice}"));
            }
        }
        out.line(format!("  inbox {}", text(status.get("inbox"))));
        out.line(format!("  outbox {}", text(status.get("outbox"))));
        if let Some(why) = stopped {
            out.line(why);
        }
    }
    let degraded = !well || stopped.is_some();
    Ok(if degraded { ExitCode::from(DEGRADED_CODE) } else { ExitCode::SUCCESS })
}
