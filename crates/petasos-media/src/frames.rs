//! A film as pictures, for models that see and take no films: even frames, by ffmpeg.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::processes::Processes;
use petasos_contract::{CallContext, Settings};

use crate::fault::MediaError;
use crate::programs::{self, Job};
use crate::sniff::{Kind, sniff};
use crate::store::{Shelf, Store};

/// The largest film that is looked at.
pub const FILM_BYTES_MAX: usize = 50 << 20;
/// From here on the answer says that the film is large.
pub const FILM_BYTES_LARGE: usize = 20 << 20;
/// How many pictures stand for a film.
pub const FRAMES: u32 = 12;
const PATIENCE: Duration = Duration::from_mins(1);
/// A frame larger than this, of what is called 8K, is not decoded: a decoder holds many at once.
const PIXELS_MAX: &str = "36000000";

/// The media type that a model is told: two containers go by the name of a known one.
pub fn film_type(bytes: &[u8]) -> Result<&'static str, MediaError> {
    match sniff(bytes) {
        Kind::Film("video/x-msvideo" | "video/x-matroska", _) => Ok("video/mp4"),
        Kind::Film(mime, _) => Ok(mime),
        _ => {
            let told = "this is no film: MP4, WebM, MOV, MPEG, AVI and MKV are read";
            Err(MediaError::new("unsupported", told))
        }
    }
}

/// Whether films can be taken apart here.
pub fn can(settings: &Settings) -> bool {
    ["ffmpeg", "ffprobe"].iter().all(|name| programs::find(settings, name).is_some())
}

/// Even frames of a film, as JPEG, at most 1,024 pixels wide.
pub async fn frames(
    film: &[u8],
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<Vec<Vec<u8>>, MediaError> {
    film_type(film)?;
    let Kind::Film(_, ending) = sniff(film) else {
        return Err(MediaError::new("unsupported", "this is no film"));
    };
    let store = Store::of(cx.settings.home());
    let stored = Scratch(vec![store.keep(Shelf::Videos, ending, film)?]);
    let path = stored.0.first().map_or(Path::new(""), PathBuf::as_path);
    let seconds = length(path, processes, cx).await?;
    let rate = f64::from(FRAMES) / seconds.max(0.5);
    let stem = store.fresh(Shelf::Videos, "frame")?.with_extension("");
    let named = |at: u32| PathBuf::from(format!("{}_{at:02}.jpg", stem.display()));
    let made = Scratch((1..=FRAMES).map(named).collect());
    let filter = format!("fps={rate:.6},scale='min(1024,iw)':-2");
    let pattern = format!("{}_%02d.jpg", stem.display());
    let count = FRAMES.to_string();
    let argv = [
        "-nostdin",
        "-v",
        "error",
        "-y",
        "-protocol_whitelist",
        "file,pipe",
        "-threads",
        "2",
        "-max_pixels",
        PIXELS_MAX,
        "-i",
        shown(path)?,
        "-an",
        "-vf",
        &filter,
        "-frames:v",
        &count,
        "-q:v",
        "4",
        "-map_metadata",
        "-1",
        &pattern,
    ];
    run("ffmpeg", &argv, processes, cx).await?;
    let frames: Vec<Vec<u8>> = made.0.iter().filter_map(|path| std::fs::read(path).ok()).collect();
    if frames.is_empty() {
        return Err(MediaError::new("bad_argument", "the film has no picture that can be read"));
    }
    Ok(frames)
}

async fn length(
    path: &Path,
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<f64, MediaError> {
    let argv = [
        "-v",
        "error",
        "-protocol_whitelist",
        "file,pipe",
        "-show_entries",
        "format=duration",
        "-of",
        "csv=p=0",
        shown(path)?,
    ];
    let said = run("ffprobe", &argv, processes, cx).await?;
    // A stream without a length is looked at from its beginning.
    Ok(said.trim().parse().unwrap_or(f64::from(FRAMES)))
}

async fn run(
    name: &str,
    argv: &[&str],
    processes: Option<&Arc<dyn Processes>>,
    cx: &CallContext,
) -> Result<String, MediaError> {
    let program = programs::find(&cx.settings, name).ok_or_else(|| {
        MediaError::new("missing_setup", format!("needs {name} to take a film apart"))
    })?;
    let mut line = vec![shown(&program)?.to_owned()];
    line.extend(argv.iter().map(|word| (*word).to_owned()));
    let job = Job { name, argv: programs::bounded(line), stdin: Vec::new(), within: PATIENCE };
    programs::run(job, processes, cx).await.map_err(|error| match error.kind {
        "upstream" => MediaError { kind: "bad_argument", ..error },
        _ => error,
    })
}

fn shown(path: &Path) -> Result<&str, MediaError> {
    path.to_str().ok_or_else(|| MediaError::new("bad_argument", "the home's path is no text"))
}

/// Files that go with their call.
struct Scratch(Vec<PathBuf>);

impl Drop for Scratch {
    fn drop(&mut self) {
        for path in &self.0 {
            // Not every frame came to be.
            std::fs::remove_file(path).unwrap_or_default();
        }
    }
}
