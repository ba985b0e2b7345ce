//! Files between this machine and the place in which commands run, for chats.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::environment::{FileKind, Located};
use petasos_contract::path::{HostPath, TargetPath};
use petasos_contract::{CallContext, Settings};
use petasos_gateway::{Wanted, may_hold_secrets};

use crate::host::Host;

/// Whether commands run elsewhere than on this machine.
pub(crate) fn is_meant(settings: &Settings) -> bool {
    !matches!(settings.text("terminal.backend"), None | Some("" | "local"))
}

async fn located(host: &Arc<Host>, cx: &CallContext) -> Result<Located, String> {
    let places = host.ports().environments.as_ref().ok_or("this program runs no commands")?;
    let place = places.locate(cx).await.map_err(|error| error.to_string())?;
    if place.is_here() { Err("commands run on this machine".to_owned()) } else { Ok(place) }
}

/// Whether a file of a place may be sent: what was made where commands begin and work, or among
/// temporary files. Links lead where they lead.
fn may_go(path: &Path, place: &Located, allowed: &[PathBuf]) -> bool {
    let facts = place.environment.facts();
    let roots = [facts.cwd.as_path(), place.cwd.as_path(), facts.temp.as_path()];
    let inside = |root: &Path| root.components().count() > 1 && path.starts_with(root);
    let is_inside = roots.into_iter().any(inside) || allowed.iter().any(|root| inside(root));
    is_inside && !may_hold_secrets(path)
}

/// Fetches a file that may be sent.
pub(crate) async fn fetched(
    host: &Arc<Host>,
    wanted: Wanted<'_>,
    cx: &CallContext,
) -> Result<(), String> {
    let place = located(host, cx).await?;
    let files = place.environment.files();
    let path = TargetPath::new(wanted.path);
    let found = files.stat(&path).await.map_err(|_| "there is no such file".to_owned())?;
    let allowed = cx.settings.names("gateway.media_delivery_allow_dirs").unwrap_or_default();
    let allowed: Vec<PathBuf> = allowed.into_iter().map(PathBuf::from).collect();
    if !may_go(found.resolved.as_path(), &place, &allowed) {
        return Err("it is outside the folders that files are sent from".to_owned());
    }
    if found.kind != FileKind::File {
        return Err("it is no regular file".to_owned());
    }
    if found.size > wanted.bytes_max {
        return Err(format!("too large ({} MB)", found.size / 1_000_000));
    }
    let bytes = files.read(&found.resolved, 0, wanted.bytes_max.saturating_add(1)).await;
    let bytes = bytes.map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > wanted.bytes_max {
        return Err("too large".to_owned());
    }
    let kept = petasos_fs::write(wanted.to, &bytes, petasos_fs::Mode::Exactly(0o600));
    kept.map_err(|error| error.to_string())
}

/// Puts a file that came in among the temporary files of the place; says where.
pub(crate) async fn lent(host: &Arc<Host>, path: &str, cx: &CallContext) -> Option<String> {
    let place = located(host, cx).await.ok()?;
    let name = Path::new(path).file_name()?;
    let there = place.environment.facts().temp.join(name);
    let copied = place.environment.files().copy_in(&HostPath::new(path), &there).await;
    match copied {
        Ok(()) => Some(there.as_path().display().to_string()),
        Err(error) => {
            tracing::warn!(%error, "a file that came in is not where commands run");
            None
        }
    }
}
