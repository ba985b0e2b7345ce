//! Keeps large results in the temporary folder of this machine.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use petasos_contract::ports::Spill;
use petasos_contract::{BoxFuture, CallContext};

/// How many results this process has kept.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// `<tmp>/hermes-results/<name>.txt`, readable by the owner only.
#[derive(Debug, Clone, Copy)]
pub struct TempSpill;

impl Spill for TempSpill {
    fn keep<'a>(
        &'a self,
        name: &'a str,
        text: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, io::Result<PathBuf>> {
        Box::pin(async move {
            let folder = cx.settings.temp().join("hermes-results");
            let path = folder.join(format!("{name}.txt"));
            let (target, text) = (path.clone(), text.to_owned());
            let write = move || write_owner_only(&folder, &target, text.as_bytes());
            tokio::task::spawn_blocking(write).await.map_err(io::Error::other)??;
            Ok(path)
        })
    }
}

/// Writes beside the target and renames, so that a reader never sees half a result. The name
/// beside it is new each time: two calls with one id do not write into one file, and a link that
/// somebody else put there is not followed.
fn write_owner_only(
    folder: &std::path::Path,
    target: &std::path::Path,
    text: &[u8],
) -> io::Result<()> {
    use std::io::Write as _;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(folder)?;
    let count = WRITES.fetch_add(1, Ordering::Relaxed);
    let partial = target.with_extension(format!("{}-{count}.partial", std::process::id()));
    let mut file = options.open(&partial)?;
    let written = file.write_all(text).and_then(|()| std::fs::rename(&partial, target));
    if written.is_err() {
        // The first error is the one worth telling.
        std::fs::remove_file(&partial).unwrap_or_default();
    }
    written
}
