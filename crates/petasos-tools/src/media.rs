//! What the media tools share: sources that are resolved before they are judged, and answers.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::effect::Effect;
use petasos_contract::ports::Ports;
use petasos_contract::{CallContext, ToolOutput};
use petasos_media::{Media, MediaError, Source, fetched};
use petasos_net::Url;
use petasos_redact::Redactor;
use serde_json::{Map, Value};

use crate::files::open::Unreadable;
use crate::files::site::{About, FilePlace, Sites, reads};
use crate::web::secret_free;

/// The shared part; one of its own when the program keeps none.
pub(crate) fn media(ports: &Ports) -> Arc<Media> {
    let kept = ports.media.clone().map(|kept| kept as Arc<dyn Any + Send + Sync>);
    kept.and_then(|kept| kept.downcast().ok()).unwrap_or_default()
}

/// A source as it was found when the call was planned.
pub(crate) struct Given {
    what: What,
    /// What taking it does.
    pub(crate) effects: Vec<Effect>,
    /// Where files are, when it is one.
    pub(crate) place: Option<FilePlace>,
}

enum What {
    Address(Url),
    Data(Vec<u8>),
    File(PathBuf, Result<About, Unreadable>),
}

impl Given {
    /// Finds out what an argument names; nothing is fetched.
    pub(crate) async fn of(
        text: &str,
        most: usize,
        sites: &Sites,
        cx: &CallContext,
    ) -> Result<Self, MediaError> {
        match Source::of(text, most)? {
            Source::Data(bytes) => {
                Ok(Self { what: What::Data(bytes), effects: Vec::new(), place: None })
            }
            Source::Address(url) => {
                secret_free(text, cx).map_err(|why| MediaError::new("blocked_policy", why))?;
                let effects = url.host_str().map(|host| Effect::Reach(host.to_owned()));
                let effects = effects.into_iter().collect();
                Ok(Self { what: What::Address(url), effects, place: None })
            }
            Source::File(name) => {
                let (sites, cx) = (sites.clone(), cx.clone());
                let looking = tokio::task::spawn_blocking(move || {
                    let place = sites.find(&cx)?;
                    let site = place.site(&cx);
                    let path = site.resolve(&name);
                    let about = site.look(&path);
                    Ok::<_, petasos_contract::ToolError>((place.clone(), path, about))
                });
                let found = looking.await.map_err(|_| stopped())?;
                let (place, path, about) =
                    found.map_err(|error| MediaError::new("not_found", error.to_string()))?;
                let effects = reads(&path, about.as_ref().ok()).iter().cloned().collect();
                Ok(Self { what: What::File(path, about), effects, place: Some(place) })
            }
        }
    }

    /// Its bytes.
    pub(crate) async fn bytes(self, most: usize, cx: &CallContext) -> Result<Vec<u8>, MediaError> {
        match (self.what, self.place) {
            (What::Data(bytes), _) => Ok(bytes),
            (What::Address(url), _) => fetched(&url, most, cx).await,
            (What::File(path, about), Some(place)) => {
                let cx = cx.clone();
                let reading = tokio::task::spawn_blocking(move || {
                    let site = place.site(&cx);
                    let shown = site.shown(&path);
                    let about = about.map_err(|error| unreadable(&error, &shown))?;
                    if about.is_folder {
                        return Err(unreadable(&Unreadable::Folder, &shown));
                    }
                    if about.size > most as u64 {
                        let told = format!("`{shown}` has more than {} MB", most / 1_000_000);
                        return Err(MediaError::new("too_large", told));
                    }
                    site.bytes(&about, most as u64).map_err(|error| unreadable(&error, &shown))
                });
                reading.await.map_err(|_| stopped())?
            }
            (What::File(..), None) => Err(stopped()),
        }
    }
}

fn stopped() -> MediaError {
    MediaError::new("cancelled", "the call was cancelled")
}

fn unreadable(error: &Unreadable, shown: &str) -> MediaError {
    let (kind, why) = match error {
        Unreadable::Missing => ("not_found", "is not there: check the path".to_owned()),
        Unreadable::Folder => ("bad_argument", "is a folder: name a file in it".to_owned()),
        Unreadable::Special => ("bad_argument", "is a device, a pipe or a socket".to_owned()),
        Unreadable::Protected(_) => ("denied", "is not for the model".to_owned()),
        Unreadable::System(error) => ("upstream", format!("cannot be read: {error}")),
    };
    MediaError::new(kind, format!("`{shown}` {why}"))
}

/// The result of a tool, with secrets masked.
pub(crate) fn told(answer: Result<Map<String, Value>, MediaError>, cx: &CallContext) -> ToolOutput {
    let mut value = Value::Object(answer.unwrap_or_else(MediaError::told));
    Redactor::of(&cx.settings).value(&mut value);
    ToolOutput::json(&value)
}
