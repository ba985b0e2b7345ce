//! Recordings in prompts of an editor: their words.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use petasos_contract::CallContext;
use petasos_media::transcribing::{FILE_BYTES_MAX, Patience, transcribe};
use petasos_media::{Shelf, Store};

use crate::host::Host;

/// A file that goes when nobody needs it any more.
struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, "a recording of a prompt was not removed");
        }
    }
}

/// What is said in a recording.
pub(super) async fn heard(
    host: &Arc<Host>,
    recording: &str,
    cx: &CallContext,
) -> Result<String, String> {
    // Four letters are three bytes.
    if recording.len() as u64 / 4 * 3 > FILE_BYTES_MAX {
        return Err("the recording has more than 25 MB".to_owned());
    }
    let bytes = BASE64_STANDARD.decode(recording);
    let bytes =
        bytes.map_err(|error| format!("the data of the recording is no base64: {error}"))?;
    let kept = Store::of(cx.settings.home()).keep(Shelf::Audio, "wav", &bytes);
    let file = Passing(kept.map_err(|error| error.to_string())?);
    let path: &Path = &file.0;
    let heard =
        Box::pin(transcribe(path, Patience::USUAL, host.ports().processes.as_ref(), cx)).await;
    heard.map(|heard| heard.transcript).map_err(|error| error.to_string())
}
