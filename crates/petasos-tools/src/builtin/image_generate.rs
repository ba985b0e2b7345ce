//! `image_generate`: a picture from words, or from words and pictures, as a file of ours.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Logins;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_media::creating::{Aspect, Draw, choose, draw};
use petasos_media::picture::FILE_BYTES_MAX;
use petasos_media::{Media, MediaError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::files::site::Sites;
use crate::media::{self, Given, pictures};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "image_generate",
    toolset: "image_gen",
    description: "Make a picture",
    emoji: "🎨",
    core: true,
    check: Some(&IMAGE_GEN),
    schema,
    examples: &[
        Example {
            title: "a picture",
            args: r#"{"prompt":"a red kite over a field"}"#,
            shows: "MEDIA:",
        },
        Example {
            title: "without words nothing is asked",
            args: r#"{"prompt":" "}"#,
            shows: "`prompt` is empty",
        },
    ],
    build: |ports| {
        let (sites, media) = (Sites::new(ports), media::media(ports));
        Arc::new(ImageGenerate { sites, media, logins: ports.logins.clone() })
    },
    ..ToolDef::USUAL
};

/// Longer than a painter may take, so that its own word is heard.
const WHOLE: Duration = Duration::from_secs(400);

/// Somebody was chosen by name; the choice is the one that a call makes.
static IMAGE_GEN: CheckDef = CheckDef {
    id: "image_gen",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            match choose(&cx.settings, cx.ports.logins.as_ref()).chosen {
                Ok(_) => Availability::Ready,
                Err(why) => Availability::Missing(why),
            }
        })
    },
};

fn schema() -> Value {
    json!({
        "description": "Make a picture from a description, or change given pictures when the \
            chosen model can edit. The result is a file; write its `media_tag` on a line of its \
            own in the answer to deliver it in a chat. It costs money.",
        "parameters": {
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "description": "What the picture shows, in detail" },
                "aspect_ratio": {
                    "type": "string", "enum": ["landscape", "square", "portrait"],
                    "default": "landscape", "description": "Its shape"
                },
                "image_url": {
                    "type": "string",
                    "description": "A picture to change: path, http(s) address or data URL"
                },
                "reference_image_urls": {
                    "type": "array", "items": { "type": "string" },
                    "description": "More pictures to work from"
                }
            },
            "required": ["prompt"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    prompt: String,
    aspect_ratio: Option<String>,
    image_url: Option<String>,
    #[serde(default)]
    reference_image_urls: Vec<String>,
}

struct ImageGenerate {
    sites: Sites,
    media: Arc<Media>,
    logins: Option<Arc<dyn Logins>>,
}

struct Work {
    prompt: String,
    aspect: Option<String>,
    sources: Vec<Result<Given, MediaError>>,
}

impl ImageGenerate {
    async fn made(&self, work: Work, cx: &CallContext) -> Result<Map<String, Value>, MediaError> {
        if work.prompt.trim().is_empty() {
            let told = "`prompt` is empty: say what the picture shows";
            return Err(MediaError::new("bad_argument", told));
        }
        let ratio = work.aspect.unwrap_or_default();
        let aspect = Aspect::of(&ratio);
        let sources = pictures(work.sources, &self.media, cx).await?;
        let modality = if sources.is_empty() { "text" } else { "image" };
        let ask = Draw {
            prompt: work.prompt,
            aspect: aspect.unwrap_or_default(),
            sources,
            ..Draw::default()
        };
        let drawn = Box::pin(draw(&ask, self.logins.as_ref(), cx)).await?;
        let elsewhere = media::agent_path(&drawn.path, &self.sites, cx).await;
        let path = drawn.path.display().to_string();
        let note = (aspect.is_none() && !ratio.trim().is_empty())
            .then(|| format!("`aspect_ratio` {ratio} is not known: landscape was taken"));
        let fell = (!drawn.fell_back_from.is_empty()).then(|| json!(drawn.fell_back_from));
        let told = [
            ("success", Some(true.into())),
            // First, so that a screen which sees only the beginning can show it.
            ("image", Some(path.as_str().into())),
            ("media_tag", Some(format!("MEDIA:{path}").into())),
            ("modality", Some(modality.into())),
            ("provider", Some(drawn.provider.into())),
            ("model", Some(drawn.model.into())),
            ("width", Some(drawn.width.into())),
            ("height", Some(drawn.height.into())),
            ("agent_visible_image", elsewhere.map(Value::from)),
            ("source_url", drawn.source_url.map(Value::from)),
            ("cost_cents", drawn.cents.map(Value::from)),
            ("fell_back_from", fell),
            ("note", note.map(Value::from)),
        ];
        Ok(told.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
    }

    /// What drawing does: words and pictures leave for a vendor, and it costs.
    fn effects(&self, cx: &CallContext) -> Vec<Effect> {
        let painters = choose(&cx.settings, self.logins.as_ref()).chosen.unwrap_or_default();
        let hosts: BTreeSet<String> =
            painters.iter().filter_map(|painter| painter.host(&cx.settings)).collect();
        let dearest = painters.iter().map(petasos_media::creating::Painter::cents).max();
        let spend = dearest.map(|cents| Effect::Spend { cents });
        hosts.into_iter().map(Effect::Reach).chain(spend).collect()
    }
}

impl Tool for ImageGenerate {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let input: Input = args.clone().parse()?;
            let named = input.image_url.filter(|url| !url.trim().is_empty()).into_iter();
            let mut sources = Vec::new();
            for url in named.chain(input.reference_image_urls) {
                sources.push(Given::of(&url, FILE_BYTES_MAX, &self.sites, cx).await);
            }
            let (plan, reads) = media::planned(args, &sources);
            let effects: Effects = reads.into_iter().chain(self.effects(cx)).collect();
            let work = Work { prompt: input.prompt, aspect: input.aspect_ratio, sources };
            Ok(plan.with_effects(effects).with_work(work))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let work: Work = cleared.into_work()?;
            Ok(media::told(self.made(work, cx).await, cx))
        })
    }

    fn time_limit(&self, _: &Args, _: &CallContext) -> Option<Duration> {
        Some(WHOLE)
    }
}
