//! A recording into text: which recogniser, what it is given, and what it heard.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::processes::Processes;
use petasos_contract::{CallContext, Settings};
use serde_json::Value;

use crate::fault::MediaError;
use crate::hearing::HEARINGS;
use crate::programs::{self, Job};
use crate::sniff::{Kind, sniff};
use crate::sound;
use crate::store::Store;
use crate::template::filled;
use crate::vendor::{Answer, Body, Outgoing, Upload, Vendor};

const KEY: &str = "stt";
/// The largest recording.
pub const FILE_BYTES_MAX: u64 = 25 << 20;
/// A command that listens, and its language, as older homes name them.
const COMMAND: &str = "HERMES_LOCAL_STT_COMMAND";
const LANGUAGE: &str = "HERMES_LOCAL_STT_LANGUAGE";
/// What such a command is called.
const BY_VARIABLE: &str = "local_command";
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// How much of a recording is listened to, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// What listening may take.
    pub within: Duration,
    /// The longest recording.
    pub length: Duration,
}

impl Patience {
    /// Where a person waits for it.
    pub const USUAL: Self =
        Self { within: Duration::from_mins(5), length: Duration::from_mins(30) };
    /// For messages of a chat, whose turn waits.
    pub const CHAT: Self = Self { within: Duration::from_mins(1), length: Duration::from_mins(10) };

    /// Refuses a recording that is longer, as far as its length is known.
    pub(crate) fn check(self, seconds: Option<f64>) -> Result<(), MediaError> {
        if seconds.is_none_or(|seconds| seconds <= self.length.as_secs_f64()) {
            return Ok(());
        }
        let told = format!("the recording is longer than {} minutes", self.length.as_secs() / 60);
        Err(MediaError::new("too_large", told))
    }
}

/// What is said when nobody can hear.
pub const NEEDS: &str = "needs a recogniser: install whisper.cpp with a model (stt.local.model_path), or set stt.provider";

/// A recogniser: data, and pure functions.
#[derive(Debug)]
pub struct HearingDef {
    /// Its name in settings and results.
    pub id: &'static str,
    /// Its place when none is configured: lower comes first.
    pub rank: u8,
    /// Who listens.
    pub way: Listens,
}

/// Who listens.
#[derive(Debug)]
pub enum Listens {
    /// A program of this machine; it wants 16 kHz WAV.
    Program {
        /// The program, and why it cannot run here if so.
        find: fn(&Settings) -> Result<PathBuf, String>,
        /// What it is started with.
        argv: fn(&str, &Settings) -> Vec<String>,
    },
    /// A vendor.
    Cloud {
        /// Who.
        vendor: Vendor,
        /// What is asked.
        outgoing: fn(Upload, &Heed) -> Outgoing,
        /// The text of an answer, or what is wrong with it.
        text: fn(&Answer) -> Result<String, String>,
    },
}

/// How it should listen.
#[derive(Debug, Clone, Default)]
pub struct Heed {
    /// The model.
    pub model: Option<String>,
    /// The language, where it is known.
    pub language: Option<String>,
}

impl Heed {
    /// The request of OpenAI's shape, which several vendors share.
    pub fn openai(&self, upload: Upload, model: &str) -> Outgoing {
        let model = self.model.clone().unwrap_or_else(|| model.to_owned());
        let mut fields = vec![("model", model), ("response_format", "json".to_owned())];
        fields.extend(self.language.clone().map(|language| ("language", language)));
        Outgoing {
            path: "/audio/transcriptions".to_owned(),
            body: Body::Form(fields, vec![upload]),
        }
    }
}

/// The text of an answer of OpenAI's shape.
pub(crate) fn text_field(answer: &Answer) -> Result<String, String> {
    let body = answer.json()?;
    body["text"].as_str().map(str::to_owned).ok_or_else(|| "it has no `text`".to_owned())
}

/// Who was chosen.
#[derive(Debug, Clone)]
enum Listener {
    Built(&'static HearingDef),
    /// A command of the user's own: its name and its section.
    Own(String),
}

/// What was heard.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// The words.
    pub transcript: String,
    /// Who listened.
    pub provider: String,
}

/// How long a recording is, where its header says so.
pub fn seconds(path: &Path) -> Option<f64> {
    recording(path).ok().and_then(|(bytes, ..)| sound::seconds(&bytes))
}

impl HearingDef {
    fn missing(&self, settings: &Settings) -> Option<String> {
        match &self.way {
            Listens::Program { find, .. } => find(settings).err(),
            Listens::Cloud { vendor, .. } => vendor.missing(settings),
        }
    }
}

fn chosen(settings: &Settings) -> Result<Listener, String> {
    let named = settings.text("stt.provider").map(str::trim).filter(|name| !name.is_empty());
    if let Some(name) = named {
        let built = HEARINGS.iter().find(|hearing| hearing.id == name);
        let own = settings.text(&format!("stt.providers.{name}.command"));
        return match (built, own) {
            (Some(hearing), _) => match hearing.missing(settings) {
                None => Ok(Listener::Built(hearing)),
                Some(why) => Err(format!("stt.provider names `{name}`, but {why}")),
            },
            (None, Some(_)) => Ok(Listener::Own(name.to_owned())),
            (None, None) => Err(format!("stt.provider names `{name}`, which is no recogniser")),
        };
    }
    let mut ranked: Vec<&HearingDef> = HEARINGS.to_vec();
    ranked.sort_by_key(|hearing| hearing.rank);
    let found = ranked.into_iter().find(|hearing| hearing.missing(settings).is_none());
    // A program of this machine comes first, then a command that a variable names.
    let is_here = found.is_some_and(|hearing| matches!(hearing.way, Listens::Program { .. }));
    if !is_here && settings.variable(COMMAND).is_some() {
        return Ok(Listener::Own(BY_VARIABLE.to_owned()));
    }
    found.map(Listener::Built).ok_or_else(|| NEEDS.to_owned())
}

/// Whether recordings are listened to, and who would; says why not.
pub fn ready(settings: &Settings) -> Result<String, String> {
    if settings.get("stt.enabled") == Some(&Value::Bool(false)) {
        return Err("stt.enabled is false".to_owned());
    }
    chosen(settings).map(|listener| match listener {
        Listener::Built(hearing) => hearing.id.to_owned(),
        Listener::Own(name) => name,
    })
}

/// Listens to a file of this machine.
pub async fn transcribe(
    path: &Path,
    patience: Patience,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<Heard, MediaError> {
    ready(&cx.settings).map_err(|why| MediaError::new("missing_setup", why))?;
    let listener = chosen(&cx.settings).map_err(|why| MediaError::new("missing_setup", why))?;
    let (bytes, mime, ending) = recording(path)?;
    patience.check(sound::seconds(&bytes))?;
    let within = patience.within;
    let name = match &listener {
        Listener::Built(hearing) => hearing.id.to_owned(),
        Listener::Own(name) => name.clone(),
    };
    let work = Box::pin(async {
        match &listener {
            Listener::Built(HearingDef {
                way: Listens::Cloud { vendor, outgoing, text },
                id,
                ..
            }) => {
                let upload = Upload {
                    field: "file",
                    name: format!("audio.{ending}"),
                    mime: mime.to_owned(),
                    bytes,
                };
                let heed = heed(&format!("{KEY}.{id}"), &cx.settings);
                let limits = (ANSWER_BYTES_MAX, within);
                let answer = vendor.ask(KEY, outgoing(upload, &heed), limits, cx).await?;
                text(&answer).map_err(|what| vendor.unusable(&what))
            }
            Listener::Built(HearingDef { way: Listens::Program { find, argv }, .. }) => {
                let program =
                    find(&cx.settings).map_err(|why| MediaError::new("missing_setup", why))?;
                let wave = Wave::of(path, patience, processes, cx).await?;
                let mut line = vec![program.to_string_lossy().into_owned()];
                line.extend(argv(&wave.path.to_string_lossy(), &cx.settings));
                let job = Job { name: &name, argv: line, stdin: Vec::new(), within };
                programs::run(job, processes, cx).await
            }
            Listener::Own(own) => commanded(own, path, patience, processes, cx).await,
        }
    });
    let late =
        || MediaError::new("timeout", format!("{name} took longer than {} s", within.as_secs()));
    let text = tokio::time::timeout(within + Duration::from_secs(2), work)
        .await
        .unwrap_or_else(|_| Err(late()))?;
    let transcript = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if transcript.is_empty() {
        return Err(MediaError::new("no_result", format!("{name} heard no words")));
    }
    Ok(Heard { transcript, provider: name })
}

/// The bytes of a recording, checked by content and size before anything is started.
fn recording(path: &Path) -> Result<(Vec<u8>, &'static str, &'static str), MediaError> {
    let unread = |error: std::io::Error| {
        let kind =
            if error.kind() == std::io::ErrorKind::NotFound { "not_found" } else { "upstream" };
        MediaError::new(kind, format!("`{}` cannot be read: {error}", path.display()))
    };
    let found = std::fs::metadata(path).map_err(unread)?;
    if !found.is_file() {
        return Err(MediaError::new("bad_argument", "the recording is no regular file"));
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(MediaError::new("too_large", "the recording has more than 25 MB"));
    }
    let bytes = std::fs::read(path).map_err(unread)?;
    match sniff(&bytes) {
        Kind::Sound(mime, ending) | Kind::Film(mime, ending) => Ok((bytes, mime, ending)),
        Kind::Picture(_) | Kind::Other => {
            let told = format!("`{}` is no recording that is known", path.display());
            Err(MediaError::new("unsupported", told))
        }
    }
}

fn heed(section: &str, settings: &Settings) -> Heed {
    let text = |name: &str| {
        let text = settings.text(&format!("{section}.{name}")).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    Heed { model: text("model"), language: text("language") }
}

/// A command of the user's own: its standard output, or the file that it wrote.
async fn commanded(
    name: &str,
    path: &Path,
    patience: Patience,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<String, MediaError> {
    let within = patience.within;
    let section = format!("stt.providers.{name}");
    let variable = |name: &str| cx.settings.variable(name).map(|it| it.value.expose());
    let word = |key: &str| match (name, key) {
        (BY_VARIABLE, "command") => variable(COMMAND).unwrap_or_default(),
        (BY_VARIABLE, "language") => variable(LANGUAGE).unwrap_or_default(),
        _ => cx.settings.text(&format!("{section}.{key}")).unwrap_or_default(),
    };
    let format = Some(word("output_format")).filter(|word| !word.is_empty()).unwrap_or("txt");
    let wave = Wave::of(path, patience, processes, cx).await?;
    let output = Store::of(cx.settings.home()).fresh(crate::store::Shelf::Audio, format)?;
    let (from, to) = (wave.path.to_string_lossy(), output.to_string_lossy());
    let values = [
        ("input_path", from.as_ref()),
        ("output_path", to.as_ref()),
        ("format", format),
        ("language", word("language")),
        ("model", word("model")),
    ];
    let line = filled(word("command"), &values);
    let own = cx.settings.get(&format!("{section}.timeout")).and_then(Value::as_u64);
    let within = own.map_or(within, |own| within.min(Duration::from_secs(own.max(1))));
    let argv = ["/bin/sh", "-c", &line].map(str::to_owned).to_vec();
    let job = Job { name, argv, stdin: Vec::new(), within };
    let printed = programs::run(job, processes, cx).await;
    let written = std::fs::read_to_string(&output).ok();
    // There may be none.
    std::fs::remove_file(&output).unwrap_or_default();
    let text = printed.map(|printed| written.unwrap_or(printed))?;
    Ok(plain(&text, format))
}

/// The words of a transcript file.
fn plain(text: &str, format: &str) -> String {
    match format {
        "json" => {
            let value: Value = serde_json::from_str(text).unwrap_or_default();
            let text = value["text"].as_str().or_else(|| value["transcript"].as_str());
            text.unwrap_or_default().to_owned()
        }
        "srt" | "vtt" => {
            let is_words = |line: &&str| {
                let line = line.trim();
                !line.is_empty()
                    && !line.contains("-->")
                    && !line.starts_with("WEBVTT")
                    && !line.bytes().all(|byte| byte.is_ascii_digit())
            };
            text.lines().filter(is_words).collect::<Vec<_>>().join(" ")
        }
        _ => text.to_owned(),
    }
}

/// A recording as recognisers want it; gone with its call when we made it.
struct Wave {
    path: PathBuf,
    is_ours: bool,
}

impl Wave {
    async fn of(
        path: &Path,
        patience: Patience,
        processes: Option<&Arc<dyn Processes>>,
        cx: &CallContext,
    ) -> Result<Self, MediaError> {
        let store = Store::of(cx.settings.home());
        let made = sound::for_recogniser(path, patience, &store, processes, cx).await?;
        let is_ours = made.is_some();
        Ok(Self { path: made.unwrap_or_else(|| path.to_owned()), is_ours })
    }
}

impl Drop for Wave {
    fn drop(&mut self) {
        if self.is_ours {
            // The store's cleaning removes what is left.
            std::fs::remove_file(&self.path).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_of_every_form_become_words() {
        assert_eq!(plain(r#"{"text":"one two"}"#, "json"), "one two");
        let srt =
            "1\n00:00:00,000 --> 00:00:01,000\none\n\n2\n00:00:01,000 --> 00:00:02,000\ntwo\n";
        assert_eq!(plain(srt, "srt"), "one two");
        assert_eq!(plain("WEBVTT\n\n00:00.000 --> 00:01.000\none two\n", "vtt"), "one two");
    }
}
