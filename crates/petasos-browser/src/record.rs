//! What a session looked like, as a film beside its downloads: the browser's own pictures, written
//! by ffmpeg. Without ffmpeg there is none, and the first result says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::Settings;
use petasos_contract::processes::{Helper, HelperSpec, Processes};
use petasos_contract::wait::{self, Owned};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::events::text;
use crate::session::Session;

const KEPT: Duration = Duration::from_hours(72);
/// Pictures that wait to be written; what comes meanwhile is left out.
const AHEAD: usize = 16;
/// The end of a film is written in this time.
const FINISH: Duration = Duration::from_secs(15);

/// Takes the pictures of one session; the film ends when it is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Recorder(mpsc::Sender<Vec<u8>>);

impl Recorder {
    /// Starts to write a film in a folder; the task goes on until its end is written.
    pub(crate) async fn start(
        processes: Option<&Arc<dyn Processes>>,
        settings: &Arc<Settings>,
        folder: &Path,
    ) -> Result<(Self, Owned<()>), String> {
        let processes = processes.ok_or("this program cannot start processes")?;
        let ffmpeg = ffmpeg(settings).ok_or("ffmpeg is not on the search path")?;
        remove_old(folder.parent().unwrap_or(folder));
        let random = getrandom::u32().map_err(|error| error.to_string())?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let file = folder.join(format!("recording_{}_{random:08x}.webm", since.as_secs()));
        let mut argv = vec![ffmpeg.display().to_string()];
        let options = "-loglevel error -f image2pipe -use_wallclock_as_timestamps 1 -c:v mjpeg -i - \
             -c:v libvpx -deadline realtime -cpu-used 8 -b:v 800k -pix_fmt yuv420p -fps_mode vfr -y";
        argv.extend(options.split_whitespace().map(str::to_owned));
        argv.push(file.display().to_string());
        let mut spec = HelperSpec::new("browser recording", argv, settings);
        folder.clone_into(&mut spec.cwd);
        let helper = processes.start(spec).await.map_err(|error| error.to_string())?;
        let (sender, pictures) = mpsc::channel(AHEAD);
        Ok((Self(sender), Owned::start(write(helper, pictures))))
    }
}

/// Writes pictures until there are no more, then waits for the end of the film.
async fn write(helper: Helper, mut pictures: mpsc::Receiver<Vec<u8>>) {
    let Helper { mut stdin, mut stderr, hand, .. } = helper;
    let told = Owned::start(async move {
        let mut text = String::new();
        if stderr.read_to_string(&mut text).await.is_ok() && !text.is_empty() {
            tracing::warn!(text, "ffmpeg has something to say");
        }
    });
    while let Some(picture) = pictures.recv().await {
        if stdin.write_all(&picture).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
    if stdin.shutdown().await.is_err() {
        tracing::debug!("ffmpeg ended by itself");
    }
    drop(stdin);
    let end = std::time::Instant::now() + FINISH;
    if wait::until(end, "the end of a recording", hand.exited()).await.is_err() {
        tracing::warn!("a recording was not finished in time");
    }
    drop(told);
}

/// Asks a page for its pictures, where its session is filmed.
pub(crate) fn begin(session: &Session, cdp: &str) {
    if session.recorder.lock().is_some() {
        let params = json!({ "format": "jpeg", "quality": 60, "maxWidth": 1280, "maxHeight": 900,
            "everyNthFrame": 2 });
        session.wire.post(Some(cdp), "Page.startScreencast", &params);
    }
}

/// A picture has come: only those of the tab in use are kept.
pub(crate) fn frame(session: &Session, cdp: &str, params: &Value) {
    session.wire.post(
        Some(cdp),
        "Page.screencastFrameAck",
        &json!({ "sessionId": params["sessionId"] }),
    );
    let is_active = session.state().active_tab().is_some_and(|tab| tab.cdp == cdp);
    let Some(recorder) = session.recorder.lock().clone().filter(|_| is_active) else { return };
    let Ok(picture) = STANDARD.decode(text(&params["data"])) else { return };
    if recorder.0.try_send(picture).is_err() {
        tracing::trace!("a picture is left out: the film is behind");
    }
}

fn ffmpeg(settings: &Settings) -> Option<PathBuf> {
    let search = settings.variable("PATH").map(|path| path.value.expose().to_owned());
    let search = search.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let mut places = search.split(':').filter(|folder| !folder.is_empty());
    places.find_map(|folder| Some(Path::new(folder).join("ffmpeg")).filter(|path| path.is_file()))
}

/// Films of all sessions go after their time.
fn remove_old(sessions: &Path) {
    let folders = std::fs::read_dir(sessions).into_iter().flatten().flatten();
    let files = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok());
    for file in files.flatten().flatten() {
        let name = file.file_name();
        let is_film = name.to_string_lossy().starts_with("recording_");
        let changed = file.metadata().and_then(|known| known.modified()).ok();
        let is_old = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > KEPT);
        if is_film && is_old && std::fs::remove_file(file.path()).is_err() {
            tracing::debug!("an old recording could not be removed");
        }
    }
}
