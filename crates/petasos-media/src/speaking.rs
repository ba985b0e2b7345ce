//! Text into a file of speech: which voice, what it is given, and what became of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::processes::Processes;
use petasos_contract::{CallContext, Settings};
use serde_json::Value;

use crate::fault::MediaError;
use crate::programs::{self, Job};
use crate::sniff::{Kind, sniff};
use crate::speech::VOICES;
use crate::store::{Shelf, Store};
use crate::template::filled;
use crate::vendor::{Answer, Outgoing, Vendor};
use crate::{sound, words};

const SECTION: &str = "tts";
const PATIENCE: Duration = Duration::from_mins(2);
const COMMAND_SECONDS_MAX: u64 = 600;
const SOUND_BYTES_MAX: usize = 50 << 20;
const COMMAND_LIMIT: usize = 5_000;
/// What is said when nobody can speak.
pub const NEEDS: &str = "needs a voice: install espeak-ng or piper, or set tts.provider";

/// A voice: data, and pure functions.
#[derive(Debug)]
pub struct SpeechDef {
    /// Its name in settings and results.
    pub id: &'static str,
    /// The most characters of one call.
    pub limit: usize,
    /// Its place when none is configured: lower comes first, `None` only by name.
    pub rank: Option<u8>,
    /// What a thousand characters cost at most, in cents.
    pub cents: u32,
    /// Who speaks.
    pub way: Way,
}

/// Who speaks.
#[derive(Debug)]
pub enum Way {
    /// A program of this machine.
    Program {
        /// Its name on the search path.
        name: &'static str,
        /// What its `--help` must say; another program may have the same name.
        proof: Option<&'static str>,
        /// What else it needs, in words.
        lacks: fn(&Settings) -> Option<String>,
        /// What it is started with: the file with the text, and where the speech goes.
        argv: fn(&Files<'_>, &Wish) -> Vec<String>,
        /// The ending of what it writes.
        ending: &'static str,
    },
    /// A vendor.
    Cloud {
        /// Who.
        vendor: Vendor,
        /// What is asked.
        outgoing: fn(&str, &Wish) -> Outgoing,
        /// The speech of an answer, or what is wrong with it.
        sound: fn(&Answer) -> Result<Vec<u8>, String>,
    },
}

/// Files of a program.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// The text.
    pub text: &'a str,
    /// Where the speech goes.
    pub output: &'a str,
}

/// How it should sound.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The voice.
    pub voice: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How fast, one is usual.
    pub speed: Option<f64>,
    /// Whether Ogg/Opus is wanted.
    pub opus: bool,
}

impl Wish {
    /// The voice, or this one.
    pub fn voice_or(&self, usual: &str) -> String {
        self.voice.clone().unwrap_or_else(|| usual.to_owned())
    }

    /// The model, or this one.
    pub fn model_or(&self, usual: &str) -> String {
        self.model.clone().unwrap_or_else(|| usual.to_owned())
    }
}

/// Who was chosen.
#[derive(Debug, Clone)]
pub enum Speaker {
    /// A built-in voice.
    Built(&'static SpeechDef),
    /// A command of the user's own, by name.
    Own(String),
}

impl Speaker {
    /// Its name.
    pub fn id(&self) -> &str {
        match self {
            Self::Built(def) => def.id,
            Self::Own(name) => name,
        }
    }

    /// What so many characters cost at most.
    pub fn cents(&self, chars: usize) -> u32 {
        match self {
            Self::Built(def) => {
                let chars = u32::try_from(chars.min(def.limit)).unwrap_or(u32::MAX);
                chars.saturating_mul(def.cents).div_ceil(1000)
            }
            Self::Own(_) => 0,
        }
    }

    /// The host that hears the text.
    pub fn host(&self, settings: &Settings) -> Option<String> {
        match self {
            Self::Built(SpeechDef { way: Way::Cloud { vendor, .. }, .. }) => {
                vendor.host(SECTION, settings)
            }
            Self::Built(SpeechDef { id: "edge", .. }) => {
                Some("speech.platform.bing.com".to_owned())
            }
            Self::Built(_) | Self::Own(_) => None,
        }
    }

    /// The command line of the user's own, for whoever judges it.
    pub fn script(&self, settings: &Settings) -> Option<String> {
        match self {
            Self::Own(name) => {
                settings.text(&format!("tts.providers.{name}.command")).map(str::to_owned)
            }
            Self::Built(_) => None,
        }
    }
}

/// The speaker, with everything that was passed over and why.
#[derive(Debug)]
pub struct Choice {
    /// Who.
    pub chosen: Result<Speaker, String>,
    /// What was looked at on the way.
    pub trace: Vec<String>,
}

impl SpeechDef {
    fn missing(&self, settings: &Settings) -> Option<String> {
        match &self.way {
            Way::Cloud { vendor, .. } => vendor.missing(settings),
            Way::Program { name, lacks, .. } => match programs::find(settings, name) {
                None => Some(format!("{} needs the program {name}", self.id)),
                Some(_) => lacks(settings),
            },
        }
    }
}

/// Chooses, from the snapshot and the search path alone. A key for chat is no consent to pay for
/// speech: vendors are asked only by name.
pub fn choose(settings: &Settings) -> Choice {
    let named = settings.text("tts.provider").map(str::trim).filter(|name| !name.is_empty());
    if let Some(name) = named {
        let trace = vec![format!("tts.provider names `{name}`")];
        let built = VOICES.iter().find(|voice| voice.id == name || alias(name) == voice.id);
        let own = settings.get(&format!("tts.providers.{name}"));
        let chosen = match (built, own) {
            (Some(voice), _) => match voice.missing(settings) {
                None => Ok(Speaker::Built(voice)),
                Some(why) => Err(format!("tts.provider names `{name}`, but {why}")),
            },
            (None, Some(entry)) if entry.get("command").is_some_and(Value::is_string) => {
                Ok(Speaker::Own(name.to_owned()))
            }
            (None, _) => Err(format!("tts.provider names `{name}`, which is no voice")),
        };
        return Choice { chosen, trace };
    }
    let (mut trace, mut ranked): (Vec<String>, Vec<_>) = (
        vec!["tts.provider is not set: only voices of this machine are tried".to_owned()],
        VOICES.iter().copied().filter(|voice| voice.rank.is_some()).collect(),
    );
    ranked.sort_by_key(|voice| voice.rank);
    for voice in ranked {
        match voice.missing(settings) {
            None => {
                trace.push(format!("{} has what it needs", voice.id));
                return Choice { chosen: Ok(Speaker::Built(voice)), trace };
            }
            Some(why) => trace.push(why),
        }
    }
    Choice { chosen: Err(NEEDS.to_owned()), trace }
}

fn alias(name: &str) -> &str {
    match name {
        "espeak-ng" => "espeak",
        "edge-tts" => "edge",
        other => other,
    }
}

/// What is to be said.
#[derive(Debug)]
pub struct SpeechAsk {
    /// The text, perhaps Markdown.
    pub text: String,
    /// Whether the place of the conversation shows Ogg/Opus as a voice message.
    pub voice_message: bool,
}

/// What was said.
#[derive(Debug)]
pub struct Speech {
    /// The file, in the store.
    pub path: PathBuf,
    /// Who spoke.
    pub provider: String,
    /// Whether it is Ogg/Opus.
    pub voice_compatible: bool,
    /// How long it is, where that is known.
    pub seconds: Option<f64>,
    /// Characters that were spoken.
    pub chars: usize,
    /// Characters that there were, when not all were spoken.
    pub of: Option<usize>,
    /// What the reader should know.
    pub note: Option<String>,
}

/// Speaks.
pub async fn speak(
    ask: &SpeechAsk,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<Speech, MediaError> {
    let speaker =
        choose(&cx.settings).chosen.map_err(|why| MediaError::new("missing_setup", why))?;
    let words = words::spoken(&ask.text);
    if words.trim().is_empty() {
        return Err(MediaError::new("bad_argument", "`text` has no words that can be spoken"));
    }
    let kept = words::cut(&words, limit(&speaker, &cx.settings));
    let all = words.chars().count();
    let store = Store::of(cx.settings.home());
    let room = Room { store: &store, processes, cx };
    let made = match &speaker {
        Speaker::Built(def) => Box::pin(built(def, kept, ask.voice_message, &room)).await?,
        Speaker::Own(name) => Box::pin(own(name, kept, &room)).await?,
    };
    let (path, note) = if ask.voice_message {
        sound::as_voice(made, &store, processes, cx).await?
    } else {
        (made, None)
    };
    let (seconds, is_opus) = sound::about(&path);
    let chars = kept.chars().count();
    store.clean(std::time::SystemTime::now());
    Ok(Speech {
        path,
        provider: speaker.id().to_owned(),
        voice_compatible: is_opus,
        seconds,
        chars,
        of: (chars < all).then_some(all),
        note,
    })
}

fn limit(speaker: &Speaker, settings: &Settings) -> usize {
    let (key, usual) = match speaker {
        Speaker::Built(def) => (format!("tts.{}.max_text_length", def.id), def.limit),
        Speaker::Own(name) => (format!("tts.providers.{name}.max_text_length"), COMMAND_LIMIT),
    };
    let own = settings.get(&key).and_then(Value::as_u64).and_then(|own| usize::try_from(own).ok());
    own.filter(|own| *own > 0).unwrap_or(usual)
}

fn wish(section: &str, opus: bool, settings: &Settings) -> Wish {
    let text = |name: &str| {
        let text = settings.text(&format!("{section}.{name}")).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let voice = text("voice").or_else(|| text("voice_id"));
    let speed = settings.get(&format!("{section}.speed")).and_then(Value::as_f64);
    Wish { voice, model: text("model").or_else(|| text("model_id")), speed, opus }
}

/// Where a voice works.
struct Room<'a> {
    store: &'a Store,
    processes: Option<&'a Arc<dyn Processes>>,
    cx: &'a CallContext,
}

async fn built(
    def: &'static SpeechDef,
    text: &str,
    opus: bool,
    room: &Room<'_>,
) -> Result<PathBuf, MediaError> {
    let Room { store, processes, cx } = *room;
    let wish = wish(&format!("{SECTION}.{}", def.id), opus, &cx.settings);
    match &def.way {
        Way::Cloud { vendor, outgoing, sound } => {
            let limits = (SOUND_BYTES_MAX, PATIENCE);
            let answer = vendor.ask(SECTION, outgoing(text, &wish), limits, cx).await?;
            let bytes = sound(&answer).map_err(|what| vendor.unusable(&what))?;
            match sniff(&bytes) {
                Kind::Sound(_, ending) => store.keep(Shelf::Audio, ending, &bytes),
                _ => Err(vendor.unusable("what it gave is no recording")),
            }
        }
        Way::Program { name, proof, argv, ending, .. } => {
            if let Some(proof) = proof {
                proven(name, proof, processes, cx).await?;
            }
            let output = store.fresh(Shelf::Audio, ending)?;
            let scratch = Scratch::with(store, text)?;
            let files = Files { text: shown(&scratch.0)?, output: shown(&output)? };
            let program = programs::find(&cx.settings, name);
            let mut line =
                vec![program.map_or_else(
                    || (*name).to_owned(),
                    |found| found.to_string_lossy().into_owned(),
                )];
            line.extend(argv(&files, &wish));
            let stdin = text.as_bytes().to_vec();
            let job = Job { name: def.id, argv: line, stdin, within: PATIENCE };
            spoken_to(output, programs::run(job, processes, cx).await)
        }
    }
}

/// A command of the user's own.
async fn own(name: &str, text: &str, room: &Room<'_>) -> Result<PathBuf, MediaError> {
    let Room { store, processes, cx } = *room;
    let section = format!("tts.providers.{name}");
    let word = |key: &str| cx.settings.text(&format!("{section}.{key}")).unwrap_or_default();
    let format = match word("output_format") {
        "" => "mp3",
        known @ ("mp3" | "wav" | "ogg" | "flac") => known,
        other => {
            let told = format!("{section}.output_format `{other}` is none of mp3, wav, ogg, flac");
            return Err(MediaError::new("missing_setup", told));
        }
    };
    let wish = wish(&section, false, &cx.settings);
    let output = store.fresh(Shelf::Audio, format)?;
    let scratch = Scratch::with(store, text)?;
    let speed = wish.speed.unwrap_or(1.0).to_string();
    let values = [
        ("input_path", shown(&scratch.0)?),
        ("text_path", shown(&scratch.0)?),
        ("output_path", shown(&output)?),
        ("format", format),
        ("voice", wish.voice.as_deref().unwrap_or_default()),
        ("model", wish.model.as_deref().unwrap_or_default()),
        ("speed", &speed),
    ];
    let line = filled(word("command"), &values);
    let seconds = cx.settings.get(&format!("{section}.timeout")).and_then(Value::as_u64);
    let within = Duration::from_secs(seconds.unwrap_or(120).clamp(1, COMMAND_SECONDS_MAX));
    let argv = ["/bin/sh", "-c", &line].map(str::to_owned).to_vec();
    let job = Job { name, argv, stdin: Vec::new(), within };
    spoken_to(output, programs::run(job, processes, cx).await)
}

/// The file, if the program made one; a partial one is removed.
fn spoken_to(output: PathBuf, ran: Result<String, MediaError>) -> Result<PathBuf, MediaError> {
    let made = ran.and_then(|_| {
        let bytes = std::fs::read(&output).unwrap_or_default();
        match sniff(bytes.get(..bytes.len().min(64)).unwrap_or_default()) {
            Kind::Sound(..) | Kind::Film(..) => Ok(()),
            _ if bytes.is_empty() => Err(MediaError::new("no_result", "the voice made no file")),
            _ => Err(MediaError::new("upstream", "what the voice wrote is no recording")),
        }
    });
    match made {
        Ok(()) => {
            private(&output)?;
            Ok(output)
        }
        Err(error) => {
            // There may be none.
            std::fs::remove_file(&output).unwrap_or_default();
            Err(error)
        }
    }
}

fn private(path: &Path) -> Result<(), MediaError> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| MediaError::new("upstream", format!("`{}`: {error}", path.display())))
}

/// Another program may have the name: only one that says what ours would is taken.
async fn proven(
    name: &str,
    proof: &str,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<(), MediaError> {
    let argv = ["/bin/sh", "-c", r#"exec "$0" --help 2>&1"#, name].map(str::to_owned).to_vec();
    let job = Job { name, argv, stdin: Vec::new(), within: Duration::from_secs(10) };
    // Some programs end with an error after they printed their help.
    let said = match programs::run(job, processes, cx).await {
        Ok(said) => said,
        Err(error) => error.extra.get("detail").map(ToString::to_string).unwrap_or_default(),
    };
    if said.contains(proof) {
        return Ok(());
    }
    let told = format!("the program {name} on this machine is another one: it has no {proof}");
    Err(MediaError::new("missing_setup", told))
}

fn shown(path: &Path) -> Result<&str, MediaError> {
    let told = || MediaError::new("upstream", "the home's path is no UTF-8");
    path.to_str().ok_or_else(told)
}

/// A text for a program; gone with its call.
struct Scratch(PathBuf);

impl Scratch {
    fn with(store: &Store, text: &str) -> Result<Self, MediaError> {
        store.keep(Shelf::Audio, "txt", text.as_bytes()).map(Self)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The store's cleaning removes what is left.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}
