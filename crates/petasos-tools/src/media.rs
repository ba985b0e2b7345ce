//! What the media tools share: sources that are resolved before they are judged, and answers.

use std::any::Any;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::path::{HostPath, TargetPath};
use petasos_contract::ports::Ports;
use petasos_contract::{Args, CallContext, Plan, ToolError, ToolOutput};
use petasos_media::picture::{FILE_BYTES_MAX, Fit, Picture};
use petasos_media::{Media, MediaError, Source, fetched};
use petasos_net::Url;
use petasos_redact::Redactor;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::files::open::Unreadable;
use crate::files::site::{About, FilePlace, Sites, reads};
use crate::files::write::{Anchor, Change};
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

/// The plan of a call with these sources, and what taking them does.
pub(crate) fn planned(args: Args, given: &[Result<Given, MediaError>]) -> (Plan, Vec<Effect>) {
    let found: Vec<&Given> = given.iter().flatten().collect();
    let effects = found.iter().flat_map(|given| given.effects.iter().cloned()).collect();
    let place = found.iter().find_map(|given| given.place.clone());
    let plan = match place {
        Some(place) => place.plan(args),
        None => Plan::new(args),
    };
    (plan, effects)
}

/// A question, and what is looked at for it.
pub(crate) struct Look {
    pub(crate) question: String,
    pub(crate) given: Result<Given, MediaError>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
}

impl Look {
    /// Plans a look at the source that this argument names.
    pub(crate) async fn planned(
        args: Args,
        source: &str,
        bytes_max: usize,
        sites: &Sites,
        cx: &CallContext,
    ) -> Result<Plan, ToolError> {
        let Asked { question } = args.clone().parse()?;
        let named = args.text(source).unwrap_or_default();
        let given = [Given::of(named, bytes_max, sites, cx).await];
        let (plan, effects) = planned(args, &given);
        let [given] = given;
        Ok(plan.with_effects(effects.into_iter().collect()).with_work(Self { question, given }))
    }
}

/// Does the work until the call is cancelled.
pub(crate) async fn until_cancelled<T>(
    cx: &CallContext,
    work: impl Future<Output = Result<T, MediaError>>,
) -> Result<T, MediaError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(MediaError::new("cancelled", "the call was cancelled")),
        done = work => done,
    }
}

/// Pictures that may go on to a vendor: decoded within limits and written anew.
pub(crate) async fn pictures(
    given: Vec<Result<Given, MediaError>>,
    media: &Media,
    cx: &CallContext,
) -> Result<Vec<Picture>, MediaError> {
    let mut pictures = Vec::with_capacity(given.len());
    for given in given {
        let bytes = given?.bytes(FILE_BYTES_MAX, cx).await?;
        pictures.push(media.picture(bytes, Fit::RESULT).await?);
    }
    Ok(pictures)
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

/// Where a call wants its file, resolved before it is judged.
pub(crate) struct Wanted {
    place: FilePlace,
    real: PathBuf,
    anchor: Option<Arc<Anchor>>,
    /// What writing it does.
    pub(crate) effects: Effects,
}

impl Wanted {
    /// Finds the place of a new file; one that is there is not written over.
    pub(crate) async fn of(
        path: &str,
        sites: &Sites,
        cx: &CallContext,
    ) -> Result<Self, MediaError> {
        let bad = |told: String| MediaError::new("bad_argument", told);
        if path.split(['/', '\\']).any(|part| part == "..") {
            return Err(bad("`output_path` may not contain `..`".to_owned()));
        }
        let (sites, cx, path) = (sites.clone(), cx.clone(), path.to_owned());
        let looking = tokio::task::spawn_blocking(move || {
            let place = sites.find(&cx).map_err(|error| bad(error.to_string()))?;
            let site = place.site(&cx);
            let named = site.resolve(&path);
            let real = site.target(&named).map_err(|error| bad(error.to_string()))?;
            if site.known(&real).map_err(|error| unreadable(&error, &path))?.is_some() {
                return Err(bad(format!("`{path}` is there already: choose another name")));
            }
            let writes = [named, real.clone()].map(Effect::Write).into_iter().collect();
            let effects = sites.confined(writes, &place, &cx);
            let anchor = site.anchor(&real);
            Ok(Self { place: place.clone(), real, anchor, effects })
        });
        looking.await.map_err(|_| stopped())?
    }

    /// Puts the file there.
    pub(crate) async fn put(self, made: PathBuf, cx: &CallContext) -> Result<PathBuf, MediaError> {
        let cx = cx.clone();
        let writing = tokio::task::spawn_blocking(move || {
            let bytes = std::fs::read(&made)
                .map_err(|error| MediaError::new("upstream", error.to_string()))?;
            let site = self.place.site(&cx);
            let change = Change {
                real: self.real.clone(),
                before: None,
                after: Some(bytes.into()),
                like: None,
                anchor: self.anchor,
            };
            let done = site.commit(&[change]);
            done.map_err(|error| MediaError::new("upstream", error.to_string()))?;
            // The store's copy is of no more use.
            std::fs::remove_file(&made).unwrap_or_default();
            Ok(self.real)
        });
        writing.await.map_err(|_| stopped())?
    }
}

/// Where a stored file is for commands of the call, when they run elsewhere.
pub(crate) async fn agent_path(path: &Path, sites: &Sites, cx: &CallContext) -> Option<String> {
    let place = sites.locate(cx).await.ok()?;
    let located = place.located().filter(|located| !located.is_here())?;
    let to = located.environment.facts().temp.as_path().join(path.file_name()?);
    let (from, to) = (HostPath::new(path), TargetPath::new(to));
    match located.environment.files().copy_in(&from, &to).await {
        Ok(()) => Some(to.to_string()),
        Err(error) => Some(format!("(not copied to where commands run: {error})")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use petasos_contract::context::Surface;
    use petasos_contract::{SessionId, Settings};

    use super::*;
    use crate::files::judged;

    /// Ways to lead a path elsewhere after it was judged: its link, its folder, the file itself.
    const WAYS: [&str; 3] = ["link", "folder", "file"];

    fn moved(top: &Path, way: &str) {
        match way {
            "link" => {
                fs::remove_file(top.join("work/link.png")).unwrap();
                symlink(top.join("private/f.png"), top.join("work/link.png")).unwrap();
            }
            "folder" => {
                fs::rename(top.join("work/real"), top.join("work/old")).unwrap();
                symlink(top.join("private"), top.join("work/real")).unwrap();
            }
            _ => {
                fs::remove_file(top.join("work/real/f.png")).unwrap();
                symlink(top.join("private/f.png"), top.join("work/real/f.png")).unwrap();
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_taken_is_what_was_judged_whoever_moves_it_meanwhile() {
        for way in WAYS {
            for name in ["link.png", "real/f.png", "./real/../link.png", " link.png"] {
                let dir = tempfile::tempdir().unwrap();
                let top = dir.path().canonicalize().unwrap();
                for (folder, content) in [("work/real", "judged"), ("private", "private")] {
                    fs::create_dir_all(top.join(folder)).unwrap();
                    let bytes = content.as_bytes();
                    petasos_fs::write(
                        &top.join(folder).join("f.png"),
                        bytes,
                        petasos_fs::Mode::Exactly(0o600),
                    )
                    .unwrap();
                }
                symlink("real/f.png", top.join("work/link.png")).unwrap();
                let settings = Arc::new(Settings::from_values(Map::new()));
                let mut cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
                cx.workspace = top.join("work").into();
                let sites = Sites::new(&Ports::default());
                let given = Given::of(name, 100, &sites, &cx).await.unwrap();
                let mut pinned = Value::from(name);
                let read = judged::pin(&mut pinned, &cx).unwrap();
                let file = top.join("work/real/f.png");
                // A blank in front is no part of a source; elsewhere it is part of the name.
                if !name.starts_with(' ') {
                    assert_eq!(read, Effect::Read(file.clone()), "{name}");
                    assert!(given.effects.contains(&Effect::Read(file)), "{:?}", given.effects);
                }
                moved(&top, way);
                let taken = given.bytes(100, &cx).await;
                let handed = judged::bytes(pinned.as_str().unwrap(), 100).await;
                // The link is not asked any more; a folder or a file that became one is refused.
                for bytes in [taken.ok(), handed.ok()].into_iter().flatten() {
                    assert_eq!((way, bytes.as_slice()), ("link", &b"judged"[..]), "{name}");
                }
            }
        }
    }
}
