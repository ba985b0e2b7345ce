//! What the tools that make films share.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::jobs::Jobs;
use petasos_contract::ports::Ports;
use petasos_contract::{Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolError, ToolOutput};
use petasos_media::filming::{Film, Filmer, Task, edits, film};
use petasos_media::{Media, MediaError};
use petasos_net::checked_url;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::files::site::Sites;
use crate::media;
use crate::web::secret_free;

/// Beyond the time of a job, so that its own word is heard.
const MARGIN: Duration = Duration::from_secs(400);

/// Films are changed by one vendor, and by it only when it was chosen by name.
pub(crate) static XAI: CheckDef = CheckDef {
    id: "xai_video",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            match edits(&cx.settings) {
                Ok(_) => Availability::Ready,
                Err(why) => Availability::Missing(why),
            }
        })
    },
};

/// The longest that a call may take.
pub(crate) fn whole(cx: &CallContext) -> Duration {
    let seconds = cx.settings.get("video_gen.timeout").and_then(Value::as_u64).unwrap_or(600);
    Duration::from_secs(seconds.clamp(1, 3_600)) + MARGIN
}

/// What filming does: words and pictures leave for a vendor, and it costs.
pub(crate) fn effects(
    filmer: &Result<Filmer, String>,
    seconds: Option<u32>,
    cx: &CallContext,
) -> Vec<Effect> {
    let Ok(filmer) = filmer else { return Vec::new() };
    let reach = filmer.host(&cx.settings).map(Effect::Reach);
    reach.into_iter().chain([Effect::Spend { cents: filmer.cents(seconds) }]).collect()
}

/// Where films are made.
pub(crate) struct Studio {
    pub(crate) sites: Sites,
    pub(crate) media: Arc<Media>,
    jobs: Option<Arc<dyn Jobs>>,
}

impl Studio {
    pub(crate) fn new(ports: &Ports) -> Self {
        let (sites, media) = (Sites::new(ports), media::media(ports));
        Self { sites, media, jobs: ports.jobs.clone() }
    }

    /// Makes one.
    pub(crate) async fn made(
        &self,
        filmer: &Filmer,
        ask: &Film,
        modality: &str,
        cx: &CallContext,
    ) -> Result<Map<String, Value>, MediaError> {
        if ask.prompt.trim().is_empty() {
            return Err(MediaError::new("bad_argument", "`prompt` is empty: say what happens"));
        }
        let made = film(filmer, ask, (&self.media, self.jobs.as_ref()), cx);
        let made = Box::pin(made).await?;
        let elsewhere = media::agent_path(&made.path, &self.sites, cx).await;
        let path = made.path.display().to_string();
        let ratio = (ask.task == Task::Create).then(|| ask.aspect_ratio.clone());
        let notes = (!made.notes.is_empty()).then(|| Value::from(made.notes));
        let told = [
            ("success", Some(true.into())),
            ("media_tag", Some(format!("MEDIA:{path}").into())),
            ("video", Some(path.into())),
            ("modality", Some(modality.into())),
            ("duration", made.duration.map(Value::from)),
            ("aspect_ratio", ratio.map(Value::from)),
            ("resolution", made.resolution.map(Value::from)),
            ("provider", Some(made.provider.into())),
            ("model", Some(made.model.into())),
            ("request_id", made.request_id.map(Value::from)),
            ("public_url", made.public_url.map(Value::from)),
            ("agent_path", elsewhere.map(Value::from)),
            ("cost_cents", made.cents.map(Value::from)),
            ("notes", notes),
        ];
        Ok(told.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
    }

    /// Runs a planned change of a film.
    async fn changed(&self, cleared: Cleared, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let change: Change = cleared.into_work()?;
        let made = match change.0 {
            Ok((filmer, film)) => self.made(&filmer, &film, "video", cx).await,
            Err(error) => Err(error),
        };
        Ok(media::told(made, cx))
    }
}

/// A tool that changes a film that is there.
pub(crate) struct Changing {
    studio: Studio,
    task: fn(String) -> Task,
}

impl Changing {
    /// For this task.
    pub(crate) fn shared(ports: &Ports, task: fn(String) -> Task) -> Arc<dyn Tool> {
        Arc::new(Self { studio: Studio::new(ports), task })
    }
}

impl Tool for Changing {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(std::future::ready(planned(args, self.task, cx)))
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.studio.changed(cleared, cx))
    }

    fn time_limit(&self, _: &Args, cx: &CallContext) -> Option<Duration> {
        Some(whole(cx))
    }
}

#[derive(Deserialize)]
struct Input {
    prompt: String,
    video_url: String,
    duration: Option<u32>,
    model: Option<String>,
}

struct Change(Result<(Filmer, Film), MediaError>);

/// Plans the change of a film; nothing is asked.
fn planned(args: Args, task: fn(String) -> Task, cx: &CallContext) -> Result<Plan, ToolError> {
    let input: Input = args.clone().parse()?;
    let filmer = edits(&cx.settings).map(|filmer| filmer.with(input.model.as_deref()));
    let effects: Effects = effects(&filmer, input.duration, cx).into_iter().collect();
    let change = source(&input.video_url, cx).and_then(|url| {
        let filmer = filmer.map_err(|why| MediaError::new("missing_setup", why))?;
        let film = Film {
            prompt: input.prompt,
            task: task(url),
            duration: input.duration,
            ..Film::default()
        };
        Ok((filmer, film))
    });
    Ok(Plan::new(args).with_effects(effects).with_work(Change(change)))
}

/// The vendor fetches the film itself, so that only what everybody can fetch will do.
fn source(url: &str, cx: &CallContext) -> Result<String, MediaError> {
    let bad = || {
        let told = "`video_url` must be a public https address of an MP4: xAI fetches it itself";
        MediaError::new("bad_argument", told)
    };
    secret_free(url, cx).map_err(|why| MediaError::new("blocked_policy", why))?;
    let parsed = checked_url(url.trim()).map_err(|_| bad())?;
    if parsed.scheme() != "https" {
        return Err(bad());
    }
    Ok(parsed.to_string())
}
