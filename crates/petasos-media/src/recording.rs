//! A microphone: whichever recorder this machine has, for a few seconds, into a file of ours.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::processes::Processes;
use petasos_contract::{CallContext, Settings};

use crate::fault::MediaError;
use crate::programs::{self, Job};
use crate::sniff::{Kind, sniff};
use crate::store::{Shelf, Store};

/// What is recorded without another word.
pub const SECONDS: u32 = 8;
/// The longest that is recorded.
pub const SECONDS_MAX: u32 = 120;
/// What is said where nothing records.
pub const NEEDS: &str =
    "needs a microphone: install alsa-utils (arecord), sox or ffmpeg, or set voice.record_command";

/// Recorders, the plainest first: 16 kHz, one channel, WAV.
const RECORDERS: [&str; 3] = ["arecord", "rec", "ffmpeg"];

/// What records here: a command of the user's own, or a program.
pub fn recorder(settings: &Settings) -> Result<String, String> {
    if own(settings).is_some() {
        return Ok("voice.record_command".to_owned());
    }
    let found = RECORDERS.iter().find(|name| programs::find(settings, name).is_some());
    found.map(|name| (*name).to_owned()).ok_or_else(|| NEEDS.to_owned())
}

fn own(settings: &Settings) -> Option<&str> {
    settings.text("voice.record_command").map(str::trim).filter(|command| !command.is_empty())
}

/// Records so many seconds.
pub async fn record(
    seconds: u32,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<PathBuf, MediaError> {
    let seconds = seconds.clamp(1, SECONDS_MAX);
    let settings = &cx.settings;
    let name = recorder(settings).map_err(|why| MediaError::new("missing_setup", why))?;
    let output = Store::of(settings.home()).fresh(Shelf::Audio, "wav")?;
    let argv = argv(&name, seconds, &output, settings);
    let within = Duration::from_secs(u64::from(seconds) + 10);
    let job = Job { name: &name, argv, stdin: Vec::new(), within };
    let ran = programs::run(job, processes, cx).await;
    let bytes = std::fs::read(&output).unwrap_or_default();
    let is_sound = matches!(sniff(&bytes), Kind::Sound(..));
    match ran {
        Ok(_) if is_sound => Ok(output),
        ended => {
            // There may be none.
            std::fs::remove_file(&output).unwrap_or_default();
            let nothing = || MediaError::new("no_result", format!("{name} recorded nothing"));
            Err(ended.err().unwrap_or_else(nothing))
        }
    }
}

fn argv(name: &str, seconds: u32, output: &Path, settings: &Settings) -> Vec<String> {
    let (to, seconds) = (output.to_string_lossy().into_owned(), seconds.to_string());
    if let Some(command) = own(settings) {
        let values = [("output_path", to.as_str()), ("seconds", seconds.as_str())];
        let line = crate::template::filled(command, &values);
        return ["/bin/sh", "-c", &line].map(str::to_owned).to_vec();
    }
    let program = programs::find(settings, name)
        .map_or_else(|| name.to_owned(), |found| found.to_string_lossy().into_owned());
    let words: Vec<&str> = match name {
        "arecord" => vec!["-q", "-f", "S16_LE", "-r", "16000", "-c", "1", "-d", &seconds, &to],
        "rec" => vec!["-q", "-r", "16000", "-c", "1", "-b", "16", &to, "trim", "0", &seconds],
        _ => vec![
            "-nostdin", "-v", "error", "-y", "-f", "alsa", "-i", "default", "-t", &seconds, "-ac",
            "1", "-ar", "16000", &to,
        ],
    };
    std::iter::once(program).chain(words.into_iter().map(str::to_owned)).collect()
}

/// Programs that play a recording, in the order in which they are looked for.
const PLAYERS: [(&str, &[&str]); 4] = [
    ("paplay", &[]),
    ("aplay", &["-q"]),
    ("afplay", &[]),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "error"]),
];
/// The longest that something is played.
const PLAYED_MAX: Duration = Duration::from_mins(10);

/// Plays a recording, by `voice.play_command` or a program of this machine.
pub async fn play(
    file: &Path,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<(), MediaError> {
    let settings = &cx.settings;
    let path = file.to_string_lossy().into_owned();
    let own = settings.text("voice.play_command").map(str::trim).filter(|line| !line.is_empty());
    let found = PLAYERS.iter().find_map(|(name, words)| {
        let program = programs::find(settings, name)?.to_string_lossy().into_owned();
        let words = words.iter().map(|word| (*word).to_owned());
        Some(std::iter::once(program).chain(words).chain([path.clone()]).collect())
    });
    let argv: Vec<String> = match (own, found) {
        (Some(line), _) => {
            let line = crate::template::filled(line, &[("input_path", path.as_str())]);
            ["/bin/sh", "-c", &line].map(str::to_owned).to_vec()
        }
        (None, Some(argv)) => argv,
        (None, None) => {
            let told = "needs a player: install pulseaudio-utils, alsa-utils or ffmpeg";
            return Err(MediaError::new("missing_setup", told));
        }
    };
    let job = Job { name: "the player", argv, stdin: Vec::new(), within: PLAYED_MAX };
    programs::run(job, processes, cx).await.map(drop)
}
