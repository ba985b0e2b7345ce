//! Words into a film: who films, what is asked, and a job that may outlive its call.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::jobs::{Completion, JobEvent, JobId, Jobs};
use petasos_contract::{CallContext, Settings};
use serde_json::Value;
use tokio::time::Instant;

use crate::course::{Begun, Course, Made, Queue, Shop, Ticket};
use crate::fault::MediaError;
use crate::media::Media;
use crate::picture::Picture;
use crate::sniff::{Kind, sniff};
use crate::store::{Shelf, Store};
use crate::vendor::{Outgoing, Vendor};
use crate::videos::FILMERS;

const SECTION: &str = "video_gen";
const SECONDS: u64 = 600;
const SUBMIT: Duration = Duration::from_mins(1);
const DOWNLOAD: Duration = Duration::from_mins(5);
const FILM_BYTES_MAX: usize = 500 << 20;
/// How long a job is followed after its call has ended.
const LATE: Duration = Duration::from_hours(1);
/// What is said when nobody was chosen.
pub const NEEDS: &str = "needs video_gen.provider";

/// Somebody who films: data, and pure functions.
#[derive(Debug)]
pub struct VideoDef {
    /// Who is asked; its name is the one in settings and results.
    pub vendor: Vendor,
    /// Models that are known, the usual one first.
    pub models: &'static [VideoModel],
    /// What is asked, and what of it is left out or changed. An error says what it cannot do.
    pub outgoing: fn(&Film) -> Result<Asked, String>,
    /// How it is made.
    pub course: Course,
}

/// What a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoModel {
    /// Its name.
    pub id: &'static str,
    /// What a second costs at most, in cents.
    pub cents: u32,
    /// How long a film is when nobody says so.
    pub seconds: u32,
}

/// What is done to a film.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Task {
    /// A new one.
    #[default]
    Create,
    /// The one behind this address is changed.
    Edit(String),
    /// The one behind this address goes on.
    Extend(String),
}

/// What is to be filmed.
#[derive(Debug, Clone, Default)]
pub struct Film {
    /// The words.
    pub prompt: String,
    /// What is done.
    pub task: Task,
    /// The first frame.
    pub image: Option<Picture>,
    /// Pictures that it should look like.
    pub references: Vec<Picture>,
    /// How long, in seconds.
    pub duration: Option<u32>,
    /// The shape.
    pub aspect_ratio: String,
    /// How fine.
    pub resolution: String,
    /// What should not be seen.
    pub negative_prompt: Option<String>,
    /// Whether there is sound.
    pub audio: Option<bool>,
    /// The seed.
    pub seed: Option<i64>,
    /// The model.
    pub model: String,
}

/// A request, with what the asker should know.
#[derive(Debug)]
pub struct Asked {
    /// What is sent.
    pub outgoing: Outgoing,
    /// The length that was asked for, in seconds.
    pub duration: Option<u32>,
    /// The resolution that was asked for.
    pub resolution: Option<String>,
    /// What was left out or changed.
    pub notes: Vec<String>,
}

/// Who was chosen, with which model.
#[derive(Debug, Clone)]
pub struct Filmer {
    def: &'static VideoDef,
    /// The model.
    pub model: String,
}

impl Filmer {
    /// Its name.
    pub fn id(&self) -> &'static str {
        self.def.vendor.id
    }

    /// What so many seconds cost at most.
    pub fn cents(&self, seconds: Option<u32>) -> u32 {
        let known = self.def.models.iter().find(|model| model.id == self.model);
        let (cents, usual) = known.map_or((10, 10), |model| (model.cents, model.seconds));
        cents.saturating_mul(seconds.unwrap_or(usual).max(1))
    }

    /// The host that is asked.
    pub fn host(&self, settings: &Settings) -> Option<String> {
        self.def.vendor.host(SECTION, settings)
    }

    /// The same with another model.
    #[must_use]
    pub fn with(mut self, model: Option<&str>) -> Self {
        if let Some(model) = model.map(str::trim).filter(|model| !model.is_empty()) {
            model.clone_into(&mut self.model);
        }
        self
    }
}

/// The filmer, with everything that was passed over.
#[derive(Debug)]
pub struct Choice {
    /// Who.
    pub chosen: Result<Filmer, String>,
    /// What was looked at on the way.
    pub trace: Vec<String>,
}

/// Chooses, from the snapshot alone. Without a name the only one with a key of its own is taken:
/// who switches the toolset on and has set that key has chosen. Keys that are for chat, too, do
/// not count.
pub fn choose(settings: &Settings) -> Choice {
    let named = settings.text("video_gen.provider").map(str::trim).filter(|name| !name.is_empty());
    let (chosen, first) = if let Some(name) = named {
        (filmer(name, settings), format!("video_gen.provider names `{name}`"))
    } else {
        let is_own =
            |def: &&&VideoDef| !def.vendor.is_for_chat() && def.vendor.missing(settings).is_none();
        let own: Vec<_> = FILMERS.iter().filter(is_own).collect();
        let chosen = match own.as_slice() {
            [only] => filmer(only.vendor.id, settings),
            _ => Err(NEEDS.to_owned()),
        };
        let why = "video_gen.provider is not set: the only one with a key of its own is taken";
        (chosen, why.to_owned())
    };
    let mut trace = vec![first];
    trace.push(match &chosen {
        Ok(filmer) => format!("{} has what it needs, with {}", filmer.id(), filmer.model),
        Err(why) => why.clone(),
    });
    Choice { chosen, trace }
}

fn filmer(name: &str, settings: &Settings) -> Result<Filmer, String> {
    let def = FILMERS.iter().copied().find(|def| def.vendor.id == name).ok_or_else(|| {
        let known: Vec<_> = FILMERS.iter().map(|def| def.vendor.id).collect();
        format!("video_gen.provider `{name}` is none of {}", known.join(", "))
    })?;
    if def.vendor.missing(settings).is_some() {
        return Err(format!("{NEEDS} and its key {}", def.vendor.keys.join(" or ")));
    }
    let text = |path: &str| {
        let text = settings.text(path).map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let usual = def.models.first().map(|model| model.id.to_owned());
    let model = text(&format!("video_gen.{name}.model")).or_else(|| text("video_gen.model"));
    let model = model.or(usual).ok_or_else(|| format!("{name} needs video_gen.{name}.model"))?;
    Ok(Filmer { def, model })
}

/// Whether films can be changed and made longer: only one vendor does that.
pub fn edits(settings: &Settings) -> Result<Filmer, String> {
    let xai = settings.text("video_gen.provider").map(str::trim) == Some("xai");
    let needs = || format!("{NEEDS}: xai, and its key XAI_API_KEY");
    if !xai {
        return Err(needs());
    }
    choose(settings).chosen.map_err(|_| needs())
}

/// A film.
#[derive(Debug)]
pub struct Filmed {
    /// The file, in the store.
    pub path: PathBuf,
    /// Who filmed.
    pub provider: &'static str,
    /// With which model.
    pub model: String,
    /// The vendor's name for the job.
    pub request_id: Option<String>,
    /// Where it was fetched.
    pub public_url: Option<String>,
    /// How long it is, in seconds, as far as that is known.
    pub duration: Option<f64>,
    /// How fine it is.
    pub resolution: Option<String>,
    /// What it cost, where the vendor says so.
    pub cents: Option<f64>,
    /// What was left out or changed.
    pub notes: Vec<String>,
}

/// Films. A job that is not ready in time goes on, and its end is told to the session.
pub async fn film(
    filmer: &Filmer,
    ask: &Film,
    (media, jobs): (&Media, Option<&Arc<dyn Jobs>>),
    cx: &CallContext,
) -> Result<Filmed, MediaError> {
    let ask = Film { model: filmer.model.clone(), ..ask.clone() };
    let asked = (filmer.def.outgoing)(&ask).map_err(|why| MediaError::new("unsupported", why))?;
    let shop = Shop { vendor: filmer.def.vendor, section: SECTION, course: filmer.def.course };
    let whole = cx.settings.get("video_gen.timeout").and_then(Value::as_u64).unwrap_or(SECONDS);
    let whole = Duration::from_secs(whole.clamp(1, 3_600));
    let until = Instant::now() + whole;
    let patience = match filmer.def.course {
        Course::Once(_) => whole,
        Course::Queued(_) => SUBMIT.min(whole),
    };
    let about = About {
        filmer: filmer.clone(),
        duration: asked.duration,
        resolution: asked.resolution,
        notes: asked.notes,
    };
    match shop.begin(asked.outgoing, patience, cx).await? {
        Begun::Made(made) => kept(&shop, &about, made, None, cx).await,
        Begun::Waits(queue, ticket) => match shop.end((queue, &ticket), until, cx).await {
            Ok(made) => kept(&shop, &about, made, Some(&ticket), cx).await,
            Err(error) if error.kind == "timeout" => {
                Err(follow(shop, about, (queue, ticket), (media, jobs), (error, cx)))
            }
            Err(error) => Err(error),
        },
    }
}

/// What is known before the film is there.
#[derive(Debug)]
struct About {
    filmer: Filmer,
    duration: Option<u32>,
    resolution: Option<String>,
    notes: Vec<String>,
}

async fn kept(
    shop: &Shop,
    about: &About,
    made: Made,
    ticket: Option<&Ticket>,
    cx: &CallContext,
) -> Result<Filmed, MediaError> {
    let named = |error: MediaError| match ticket {
        Some(ticket) => error.with("request_id", ticket.id.clone()),
        None => error,
    };
    let fetched = shop.bytes(&made, (FILM_BYTES_MAX, DOWNLOAD), cx).await;
    let (bytes, public_url) = fetched.map_err(&named)?;
    let Kind::Film(_, ending) = sniff(&bytes) else {
        return Err(named(shop.vendor.unusable("what it gave is no film")));
    };
    let path = Store::of(cx.settings.home()).keep(Shelf::Videos, ending, &bytes).map_err(&named)?;
    Ok(Filmed {
        path,
        provider: about.filmer.id(),
        model: about.filmer.model.clone(),
        request_id: ticket.map(|ticket| ticket.id.clone()),
        public_url,
        duration: made.seconds.or(about.duration.map(f64::from)),
        resolution: about.resolution.clone(),
        cents: made.cents,
        notes: about.notes.clone(),
    })
}

/// Goes on asking after the call has ended, where somebody can be told of the end.
fn follow(
    shop: Shop,
    about: About,
    (queue, ticket): (Queue, Ticket),
    (media, jobs): (&Media, Option<&Arc<dyn Jobs>>),
    (error, cx): (MediaError, &CallContext),
) -> MediaError {
    let Some(jobs) = jobs.cloned() else { return error };
    let job = JobId::new(format!("video_{}", ticket.id));
    let (name, cx) = (job.clone(), detached(cx));
    media.keep(async move {
        let begun = std::time::SystemTime::now();
        let until = Instant::now() + LATE;
        let ended = match shop.end((queue, &ticket), until, &cx).await {
            Ok(made) => kept(&shop, &about, made, Some(&ticket), &cx).await,
            Err(error) => Err(error),
        };
        let (exit_code, output) = match ended {
            Ok(filmed) => {
                let path = filmed.path.display().to_string();
                (0, format!("The film is ready: {path}\nMEDIA:{path}"))
            }
            Err(error) => (1, format!("The film was not made: {error}")),
        };
        let since = begun.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
        jobs.tell(
            &cx.session,
            JobEvent::Completion {
                session_id: job,
                session_key: cx.session.clone(),
                command: format!("video_generate ({} {})", about.filmer.id(), ticket.id),
                exit_code,
                completion_reason: Completion::Exited,
                termination_source: None,
                output,
                started_at: since.as_secs_f64(),
            },
        );
    });
    let MediaError { kind, message, extra } = error;
    let message = format!("{message}; it goes on, and its end will be told");
    MediaError { kind, message, extra }.with("job", name.to_string())
}

/// The surroundings of a call whose cancelling is no longer heard.
fn detached(cx: &CallContext) -> CallContext {
    CallContext::new(Arc::clone(&cx.settings), cx.surface, cx.session.clone())
}
