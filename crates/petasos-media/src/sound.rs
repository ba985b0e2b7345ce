//! Recordings: how long one is, and as Ogg/Opus where a chat shows that as a voice message.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::CallContext;
use petasos_contract::processes::Processes;

use crate::fault::MediaError;
use crate::programs::{self, Job};
use crate::store::{Shelf, Store};
use crate::transcribing::Patience;

const CONVERSION: Duration = Duration::from_mins(1);

/// A WAV file around plain 16-bit samples.
pub(crate) fn wav(samples: &[u8], rate: u32) -> Vec<u8> {
    let size = u32::try_from(samples.len()).unwrap_or(u32::MAX - 36);
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + size).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(rate.to_le_bytes());
    bytes.extend((rate * 2).to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(size.to_le_bytes());
    bytes.extend(samples);
    bytes
}

/// How long a file is, as far as its header tells, and whether it is Ogg/Opus.
pub(crate) fn about(path: &Path) -> (Option<f64>, bool) {
    let Ok(bytes) = std::fs::read(path) else { return (None, false) };
    (seconds(&bytes), is_opus(&bytes))
}

/// How long a recording is, as far as its header tells.
pub(crate) fn seconds(bytes: &[u8]) -> Option<f64> {
    wav_seconds(bytes).or_else(|| ogg_seconds(bytes).filter(|_| is_opus(bytes)))
}

fn is_opus(bytes: &[u8]) -> bool {
    let head = bytes.get(..64.min(bytes.len())).unwrap_or_default();
    head.starts_with(b"OggS") && head.windows(8).any(|word| word == b"OpusHead")
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

/// By the bytes that follow the header: programs that write to a pipe do not know the length.
fn wav_seconds(bytes: &[u8]) -> Option<f64> {
    if !bytes.starts_with(b"RIFF") {
        return None;
    }
    let rate = word(bytes, 28).filter(|rate| *rate > 0)?;
    let data = u32::try_from(bytes.len().saturating_sub(44)).ok()?;
    Some((f64::from(data) / f64::from(rate) * 100.0).round() / 100.0)
}

/// The position of the last page, in samples of 48 kHz.
fn ogg_seconds(bytes: &[u8]) -> Option<f64> {
    let last = bytes.windows(4).rposition(|word| word == b"OggS")?;
    let samples = word(bytes, last + 6)?;
    Some((f64::from(samples) / 48_000.0 * 100.0).round() / 100.0)
}

/// The recording as Ogg/Opus; where nothing converts it stays as it is, with a word.
pub(crate) async fn as_voice(
    path: PathBuf,
    store: &Store,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<(PathBuf, Option<String>), MediaError> {
    if about(&path).1 {
        return Ok((path, None));
    }
    let Some(program) = programs::find(&cx.settings, "ffmpeg") else {
        let told = "sent as a file and not as a voice message: ffmpeg is not installed";
        return Ok((path, Some(told.to_owned())));
    };
    let output = store.fresh(Shelf::Audio, "ogg")?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (program, from, to) = (text(&program), text(&path), text(&output));
    let argv = [
        &program,
        "-nostdin",
        "-v",
        "error",
        "-y",
        "-i",
        &from,
        "-vn",
        "-ac",
        "1",
        "-c:a",
        "libopus",
        "-b:a",
        "32k",
        "-map_metadata",
        "-1",
        &to,
    ];
    let argv = programs::bounded(argv.map(str::to_owned).to_vec());
    let job = Job { name: "ffmpeg", argv, stdin: Vec::new(), within: CONVERSION };
    match programs::run(job, processes, cx).await {
        Ok(_) if about(&output).1 => {
            // The first form is of no more use.
            std::fs::remove_file(&path).unwrap_or_default();
            Ok((output, None))
        }
        ended => {
            // There may be none.
            std::fs::remove_file(&output).unwrap_or_default();
            let why = match ended {
                Ok(_) => "ffmpeg made no Opus".to_owned(),
                Err(error) if error.kind == "cancelled" => {
                    std::fs::remove_file(&path).unwrap_or_default();
                    return Err(error);
                }
                Err(error) => error.to_string(),
            };
            Ok((path, Some(format!("sent as a file: {why}"))))
        }
    }
}

/// A recording as recognisers want it: 16 kHz, one channel, WAV. `None` without ffmpeg.
pub(crate) async fn for_recogniser(
    path: &Path,
    patience: Patience,
    store: &Store,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<Option<PathBuf>, MediaError> {
    let Some(program) = programs::find(&cx.settings, "ffmpeg") else { return Ok(None) };
    let output = store.fresh(Shelf::Audio, "wav")?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (program, from, to) = (text(&program), text(path), text(&output));
    // A second more shows that there is more: a small file may hold days of silence.
    let most = (patience.length.as_secs() + 1).to_string();
    let argv = [
        &program,
        "-nostdin",
        "-v",
        "error",
        "-y",
        "-protocol_whitelist",
        "file,pipe",
        "-i",
        &from,
        "-vn",
        "-t",
        &most,
        "-ac",
        "1",
        "-ar",
        "16000",
        "-c:a",
        "pcm_s16le",
        &to,
    ];
    let argv = programs::bounded(argv.map(str::to_owned).to_vec());
    let job = Job { name: "ffmpeg", argv, stdin: Vec::new(), within: CONVERSION };
    let made = programs::run(job, processes, cx).await;
    let made = made.and_then(|_| patience.check(about(&output).0));
    if let Err(error) = made {
        // There may be none.
        std::fs::remove_file(&output).unwrap_or_default();
        return Err(error);
    }
    Ok(Some(output))
}
