//! `petasos setup voice`: fetches a voice for Piper. Nothing else ever does.

use std::process::ExitCode;

use petasos_config::{edit, home};
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_media::MediaError;
use petasos_media::voicing::{address, fetch, kept};
use serde_json::{Value, json};

use crate::command::Session;
use crate::prompt;
use crate::report::Report;

pub(super) fn run(name: &str, yes: bool, session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let host = session.host.shared()?;
    let from = address(name).map_err(refused)?;
    let to = kept(name, host.settings());
    out.remark(format!("{name} comes from {from} (some 60 MB) and stays in {}.", to.display()));
    let agreed = yes || (prompt::somebody_is_there(out) && prompt::confirm(out, "Fetch it?")?);
    if !agreed {
        return Err(Report::new("nothing was fetched")
            .code("consent")
            .hint("`petasos setup voice --yes` fetches it without a question"));
    }
    let cx = host.call_context(Surface::OneShot, SessionId::new("setup"));
    let path = host.wait(Box::pin(fetch(name, &cx)))?.map_err(refused)?;
    let file = home::places(session.host.inputs())?.config;
    edit::set(&file, "tts.piper.model", &Value::from(path.display().to_string()))?;
    if out.is_json() {
        out.value(&json!({ "voice": name, "path": path, "saved": file }));
    } else {
        out.line(format!("tts.piper.model is {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(error: MediaError) -> Report {
    Report::new(error.message).code(error.kind)
}
