//! How much of a turn a chat is shown: words as they come, tools that run, or only the answer.

use std::time::Duration;

use petasos_contract::Settings;
use serde_json::Value;

use crate::platform::PlatformDef;

/// How much of tool calls is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing.
    Off,
    /// The first use of each tool.
    New,
    /// Every call.
    All,
    /// Every call with its arguments.
    Verbose,
}

impl Progress {
    /// Its word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::New => "new",
            Self::All => "all",
            Self::Verbose => "verbose",
        }
    }

    /// The mode of this word; `off` is one even where YAML reads it as false.
    pub(crate) fn named(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(false) => Some(Self::Off),
            Value::Bool(true) => Some(Self::All),
            Value::String(word) => match word.as_str() {
                // The log has every call anyway.
                "off" | "log" => Some(Self::Off),
                "new" => Some(Self::New),
                "all" => Some(Self::All),
                "verbose" => Some(Self::Verbose),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What a platform's chats are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Display {
    /// Words as they come.
    pub streaming: bool,
    /// Tool calls.
    pub progress: Progress,
    /// So many characters of a call's arguments.
    pub preview: usize,
    /// So many characters before the first words are shown.
    pub buffer: usize,
    /// What stands at the end of words that still grow.
    pub cursor: String,
    /// Only answers and questions are shown.
    pub quiet: bool,
    /// The least time between two edits that the settings want.
    interval: Duration,
}

impl Display {
    /// What the settings say: for the platform, else for all, else what is usual there.
    pub fn of(settings: &Settings, def: &PlatformDef) -> Self {
        let own = |key: &str| settings.get(&format!("display.platforms.{}.{key}", def.name));
        let quiet = own("quiet").or_else(|| settings.get("display.quiet")).and_then(Value::as_bool);
        let enabled =
            || settings.get("streaming.enabled").or_else(|| settings.get("streaming.mode"));
        let streaming = own("streaming").and_then(Value::as_bool).or_else(|| {
            let said = enabled()?;
            Some(said.as_bool().unwrap_or(said.as_str() != Some("off")))
        });
        // The terminal's own word about all surfaces does not make chats noisy.
        let progress = own("tool_progress").and_then(Progress::named).or(match def.progress {
            Progress::Off => None,
            _ => settings.get("display.tool_progress").and_then(Progress::named),
        });
        let number = |key: &str, usual: usize| {
            let found = settings.get(key).and_then(Value::as_u64);
            found.and_then(|found| usize::try_from(found).ok()).unwrap_or(usual)
        };
        let interval = settings.get("streaming.edit_interval").and_then(Value::as_f64);
        let quiet = quiet == Some(true);
        Self {
            streaming: !quiet && streaming.unwrap_or(def.streaming),
            progress: if quiet { Progress::Off } else { progress.unwrap_or(def.progress) },
            preview: number("display.tool_preview_length", 40),
            buffer: number("streaming.buffer_threshold", 24),
            cursor: settings.text("streaming.cursor").unwrap_or(" ▉").to_owned(),
            quiet,
            interval: Duration::from_secs_f64(interval.unwrap_or(0.8).clamp(0.1, 60.0)),
        }
    }

    /// Whether anything is shown before the answer.
    pub fn shows_anything(&self) -> bool {
        self.streaming || self.progress != Progress::Off
    }

    /// The least time between two edits of one message.
    pub fn pause(&self, def: &PlatformDef) -> Duration {
        self.interval.max(def.edits.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use petasos_contract::settings::Parts;
    use serde_json::json;

    use super::*;
    use crate::PLATFORMS;

    fn display(platform: &str, values: Value) -> Display {
        let Value::Object(values) = values else { unreachable!("keys") };
        let settings = Settings::new(Parts { values, ..Parts::default() });
        let def = PLATFORMS.iter().find(|def| def.name == platform).unwrap();
        Display::of(&settings, def)
    }

    #[test]
    fn s50_progress_is_as_the_table_says_and_off_is_a_word() {
        for (platform, usual) in [
            ("telegram", Progress::Off),
            ("slack", Progress::Off),
            ("signal", Progress::Off),
            ("email", Progress::Off),
            ("homeassistant", Progress::Off),
            ("matrix", Progress::New),
            ("mattermost", Progress::New),
            ("discord", Progress::All),
        ] {
            assert_eq!(display(platform, json!({})).progress, usual, "{platform}");
        }
        let own = |said: Value| {
            display(
                "discord",
                json!({ "display": { "platforms": { "discord": { "tool_progress": said } } } }),
            )
            .progress
        };
        assert_eq!(own(json!(false)), Progress::Off);
        assert_eq!(own(json!("off")), Progress::Off);
        assert_eq!(own(json!("verbose")), Progress::Verbose);
        let all = json!({ "display": { "tool_progress": "all" } });
        assert_eq!(display("telegram", all).progress, Progress::Off, "quiet platforms stay so");
        let quiet = display(
            "discord",
            json!({ "display": { "quiet": true }, "streaming": { "enabled": true } }),
        );
        assert!(!quiet.shows_anything());
    }

    #[test]
    fn streaming_is_the_platforms_word_first() {
        assert!(display("telegram", json!({})).streaming);
        assert!(!display("discord", json!({})).streaming);
        assert!(display("discord", json!({ "streaming": { "enabled": true } })).streaming);
        let off = json!({ "streaming": { "enabled": true }, "display": { "platforms": { "telegram": { "streaming": false } } } });
        assert!(!display("telegram", off).streaming);
    }
}
