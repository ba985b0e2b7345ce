//! `text_to_speech`: text as a file of speech, with the tag that delivers it.

use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::processes::Processes;
use petasos_contract::tool::Example;
use petasos_contract::{
    Args, BoxFuture, CallContext, Cleared, Plan, Tool, ToolDef, ToolError, ToolOutput,
};
use petasos_media::MediaError;
use petasos_media::speaking::{SpeechAsk, choose, speak};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::files::site::Sites;
use crate::media::{self, Wanted};

pub(super) static TOOL: ToolDef = ToolDef {
    name: "text_to_speech",
    toolset: "tts",
    description: "Speak a text",
    emoji: "🔊",
    core: true,
    check: Some(&TTS),
    schema,
    examples: &[
        Example {
            title: "words that are spoken",
            args: r#"{"text":"The kettle boils."}"#,
            shows: "MEDIA:",
        },
        Example {
            title: "a path that leaves its folder is refused",
            args: r#"{"text":"hello","output_path":"../x.wav"}"#,
            shows: "may not contain",
        },
    ],
    build: |ports| {
        Arc::new(TextToSpeech { sites: Sites::new(ports), processes: ports.processes.clone() })
    },
    ..ToolDef::USUAL
};

/// Somebody can speak; the choice is the one that a call makes.
static TTS: CheckDef = CheckDef {
    id: "tts",
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

/// Platforms that show Ogg/Opus as a voice message.
const VOICE_PLATFORMS: [&str; 3] = ["telegram", "whatsapp", "matrix"];

fn schema() -> Value {
    json!({
        "description": "Turn text into a file of speech. The result's `media_tag` on a line of its \
            own in your answer delivers it.",
        "parameters": {
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "output_path": {
                    "type": "string"
                }
            },
            "required": ["text"],
        },
    })
}

#[derive(Deserialize)]
struct Input {
    text: String,
    output_path: Option<String>,
}

struct TextToSpeech {
    sites: Sites,
    processes: Option<Arc<dyn Processes>>,
}

struct Work {
    text: String,
    wanted: Result<Option<Wanted>, MediaError>,
}

impl TextToSpeech {
    async fn spoken(&self, work: Work, cx: &CallContext) -> Result<Map<String, Value>, MediaError> {
        let wanted = work.wanted?;
        let platform = cx.address.platform.as_str().to_owned();
        let voice_message = VOICE_PLATFORMS.contains(&platform.as_str());
        let ask = SpeechAsk { text: work.text, voice_message };
        let speech = Box::pin(speak(&ask, self.processes.as_ref(), cx)).await?;
        let (path, elsewhere): (PathBuf, _) = if let Some(wanted) = wanted {
            (wanted.put(speech.path, cx).await?, None)
        } else {
            let elsewhere = media::agent_path(&speech.path, &self.sites, cx).await;
            (speech.path, elsewhere)
        };
        let path = path.display().to_string();
        let voice = if speech.voice_compatible { "[[audio_as_voice]]\n" } else { "" };
        let mut told = Map::new();
        told.insert("success".to_owned(), true.into());
        told.insert("media_tag".to_owned(), format!("{voice}MEDIA:{path}").into());
        told.insert("file_path".to_owned(), path.into());
        told.insert("provider".to_owned(), speech.provider.into());
        told.insert("voice_compatible".to_owned(), speech.voice_compatible.into());
        told.insert("chars".to_owned(), speech.chars.into());
        let extra = [
            ("duration_s", speech.seconds.map(Value::from)),
            ("cut", speech.of.map(|of| json!({ "kept": speech.chars, "of": of }))),
            ("agent_path", elsewhere.map(Value::from)),
            ("note", speech.note.map(Value::from)),
        ];
        let extra = extra.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        told.extend(extra);
        Ok(told)
    }

    /// What speaking does: the text leaves for a vendor and costs, or a command runs.
    fn effects(text: &str, cx: &CallContext) -> Vec<Effect> {
        let Ok(speaker) = choose(&cx.settings).chosen else { return Vec::new() };
        let mut effects: Vec<Effect> =
            speaker.host(&cx.settings).map(Effect::Reach).into_iter().collect();
        let cents = speaker.cents(text.chars().count());
        if cents > 0 {
            effects.push(Effect::Spend { cents });
        }
        if let Some(script) = speaker.script(&cx.settings) {
            effects.push(Effect::Command { script, cwd: cx.workspace.to_path_buf() });
        }
        effects
    }
}

impl Tool for TextToSpeech {
    fn plan<'a>(
        &'a self,
        args: Args,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(async move {
            let input: Input = args.clone().parse()?;
            let wanted = match input.output_path.as_deref().filter(|path| !path.trim().is_empty()) {
                None => Ok(None),
                Some(path) => Wanted::of(path, &self.sites, cx).await.map(Some),
            };
            let writes = wanted.iter().flatten().flat_map(|wanted| wanted.effects.iter().cloned());
            let effects: Effects =
                Self::effects(&input.text, cx).into_iter().chain(writes).collect();
            let work = Work { text: input.text, wanted };
            Ok(Plan::new(args).with_effects(effects).with_work(work))
        })
    }

    fn run<'a>(
        &'a self,
        cleared: Cleared,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let work: Work = cleared.into_work()?;
            Ok(media::told(self.spoken(work, cx).await, cx))
        })
    }
}
