//! Files of this machine that a tool hands on: found when the call is planned, and opened as they
//! were found.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use petasos_contract::effect::Effect;
use petasos_contract::path::resolve;
use serde_json::Value;

use super::open::{self, Unreadable};

/// Where a path of a call leads, with every link followed.
pub(crate) fn found(path: &str, cx: &CallContext) -> PathBuf {
    let home = |name: &str| name.is_empty().then(|| cx.settings.user_home().to_owned());
    petasos_fs::real(&resolve(path, &cx.workspace, home))
}

/// Puts what was found in the place of what was written, so that the call runs with the path that
/// is judged, and tells what is judged.
pub(crate) fn pin(path: &mut Value, cx: &CallContext) -> Option<Effect> {
    let real = found(path.as_str()?, cx);
    *path = real.to_string_lossy().into();
    Some(Effect::Read(real))
}

/// The bytes of a file that was found; nothing is followed on the way to it any more.
pub(crate) async fn bytes(real: &str, most: u64) -> io::Result<Vec<u8>> {
    let real = Path::new(real).to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let (file, size) = open::open(&real).map_err(|error| match error {
            Unreadable::System(error) => error,
            Unreadable::Missing => io::ErrorKind::NotFound.into(),
            _ => io::Error::other("it is no plain file"),
        })?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if size > most || bytes.len() as u64 > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    });
    reading.await.map_err(io::Error::other)?
}
