//! Recordings that go along with a prompt, as `--audio` names them: their words.

use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::message::{Content, Part};
use petasos_media::transcribing::{Patience, transcribe};
use petasos_session::Input;

use crate::host::Host;
use crate::report::Report;

/// The input with what is said in each file.
pub(super) async fn with(
    mut input: Input,
    files: &[PathBuf],
    host: &Arc<Host>,
) -> Result<Input, Report> {
    if files.is_empty() {
        return Ok(input);
    }
    let cx = host.call_context(Surface::OneShot, SessionId::new("hearing"));
    let mut words = Vec::new();
    for file in files {
        let heard =
            Box::pin(transcribe(file, Patience::USUAL, host.ports().processes.as_ref(), &cx)).await;
        let heard = heard.map_err(|error| {
            Report::new(format!("--audio {}: {error}", file.display())).code("audio")
        })?;
        words.push(format!("[spoken, in {}] {}", file.display(), heard.transcript));
    }
    let words = words.join("\n\n");
    input.content = match input.content {
        Content::Text(text) if text.is_empty() => Content::Text(words),
        Content::Text(text) => Content::Text(format!("{text}\n\n{words}")),
        Content::Parts(mut parts) => {
            parts.push(Part::text(words));
            Content::Parts(parts)
        }
    };
    Ok(input)
}
