//! `video_generate`: a film from words, a first frame or references, as a file of ours.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::Effects;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_media::MediaError;
use petasos_media::filming::{Film, Filmer, choose};
use petasos_media::picture::FILE_BYTES_MAX;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::film::{self, Studio};
use crate::media::{self, Given, pictures};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "video_generate",
    toolset: "video_gen",
    description: "Make a film",
    emoji: "🎬",
    check: Some(&VIDEO_GEN),
    schema,
    examples: &[Example {
        title: "a short film",
        args: r#"{"prompt":"a cat on a fence"}"#,
        shows: "MEDIA:",
    }],
    build: |ports| Arc::new(VideoGenerate(Studio::new(ports))),
    ..ToolDef::USUAL
};

static VIDEO_GEN: CheckDef = CheckDef {
    id: "video_gen",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            match choose(&cx.settings).chosen {
                Ok(_) => Availability::Ready,
                Err(why) => Availability::Missing(why),
            }
        })
    },
};

const RATIOS: [&str; 7] = ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3"];
const RESOLUTIONS: [&str; 4] = ["480p", "540p", "720p", "1080p"];

fn schema() -> Value {
    json!({
        "description": "Make a short film from a description, a first frame or reference \
            pictures. It takes minutes and costs money. The result is a file; write its \
            `media_tag` on a line of its own in the answer to deliver it in a chat.",
        "parameters": {
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "description": "What happens, in detail" },
                "image_url": {
                    "type": "string",
                    "description": "The first frame: path, http(s) address or data URL"
                },
                "reference_image_urls": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Pictures of what it should look like"
                },
                "duration": { "type": "integer", "description": "Seconds" },
                "aspect_ratio": {
                    "type": "string", "enum": RATIOS, "default": "16:9", "description": "Its shape"
                },
                "resolution": {
                    "type": "string", "enum": RESOLUTIONS, "default": "720p",
                    "description": "How fine it is"
                },
                "negative_prompt": { "type": "string", "description": "What must not be seen" },
                "audio": { "type": "boolean", "description": "Whether there is sound" },
                "seed": { "type": "integer", "description": "For a film that can be made again" },
                "model": { "type": "string", "description": "Another model of the provider" }
            },
            "required": ["prompt"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    prompt: String,
    image_url: Option<String>,
    #[serde(default)]
    reference_image_urls: Vec<String>,
    duration: Option<u32>,
    aspect_ratio: Option<String>,
    resolution: Option<String>,
    negative_prompt: Option<String>,
    audio: Option<bool>,
    seed: Option<i64>,
    model: Option<String>,
}

struct VideoGenerate(Studio);

struct Work {
    film: Film,
    filmer: Result<Filmer, String>,
    frame: Option<Result<Given, MediaError>>,
    references: Vec<Result<Given, MediaError>>,
}

impl VideoGenerate {
    async fn made(&self, work: Work, cx: &CallContext) -> Result<Map<String, Value>, MediaError> {
        let media = &self.0.media;
        let frame = pictures(work.frame.into_iter().collect(), media, cx).await?;
        let references = pictures(work.references, media, cx).await?;
        let modality = match (frame.is_empty(), references.is_empty()) {
            (false, _) => "image",
            (true, false) => "reference",
            (true, true) => "text",
        };
        let film = Film { image: frame.into_iter().next(), references, ..work.film };
        let filmer = work.filmer.map_err(|why| MediaError::new("missing_setup", why))?;
        self.0.made(&filmer, &film, modality, cx).await
    }
}

impl Tool for VideoGenerate {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let input: Input = args.clone().parse()?;
            let model = input.model.as_deref();
            let filmer = choose(&cx.settings).chosen.map(|filmer| filmer.with(model));
            let sites = &self.0.sites;
            let mut sources = Vec::new();
            let frame = input.image_url.filter(|url| !url.trim().is_empty());
            let has_frame = frame.is_some();
            for url in frame.into_iter().chain(input.reference_image_urls) {
                sources.push(Given::of(&url, FILE_BYTES_MAX, sites, cx).await);
            }
            let (plan, reads) = media::planned(args, &sources);
            let costs = film::effects(&filmer, input.duration, cx);
            let effects: Effects = reads.into_iter().chain(costs).collect();
            let references =
                if has_frame { sources.split_off(1) } else { std::mem::take(&mut sources) };
            let film = Film {
                prompt: input.prompt,
                duration: input.duration,
                aspect_ratio: input.aspect_ratio.unwrap_or_else(|| "16:9".to_owned()),
                resolution: input.resolution.unwrap_or_else(|| "720p".to_owned()),
                negative_prompt: input.negative_prompt,
                audio: input.audio,
                seed: input.seed,
                ..Film::default()
            };
            let work = Work { film, filmer, frame: sources.into_iter().next(), references };
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

    fn time_limit(&self, _: &Args, cx: &CallContext) -> Option<Duration> {
        Some(film::whole(cx))
    }
}
