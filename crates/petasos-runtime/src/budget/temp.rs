//! Keeps large results in the temporary folder of this machine: a private folder, one below it for
//! each conversation, and in that one file a result.
//!
//! Call ids repeat (some servers count from zero in each reply), so neither another conversation's
//! result nor an earlier one of the same is ever written over.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use petasos_contract::context::Surface;
use petasos_contract::{BoxFuture, CallContext, SessionId, Settings};
use sha2::{Digest as _, Sha256};

use super::spill::{Holds, Large, Spill};
use super::{hex, safe_name};

/// How often one call id may be used in one conversation.
const SAME_NAME_MAX: u32 = 10_000;
/// How the name of a result that strangers wrote ends.
const UNTRUSTED: &str = ".untrusted.txt";

/// `<tmp>/hermes-results-<home>/<session>/<call>.txt`, for the owner only.
#[derive(Debug, Clone, Copy)]
pub struct TempSpill;

impl TempSpill {
    /// Removes what was kept for a conversation.
    pub fn remove(session: &SessionId, settings: &Settings) -> io::Result<()> {
        let folder = root(settings).join(safe_name(session.as_str()));
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

impl Spill for TempSpill {
    fn keep<'a>(
        &'a self,
        result: Large<'a>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, io::Result<PathBuf>> {
        Box::pin(async move {
            let (root, folder) = (root(&cx.settings), own(cx));
            let end = if result.untrusted { UNTRUSTED } else { ".txt" };
            let (name, text) = (result.name.to_owned(), result.text.to_owned());
            let write = move || {
                private_folder(&root)?;
                private_folder(&folder)?;
                write_new(&[&root, &folder], |again| format!("{name}{again}{end}"), text.as_bytes())
            };
            tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?
        })
    }

    fn holds(&self, path: &Path, cx: &CallContext) -> Holds {
        // Where nothing was ever kept there is nothing to find.
        let Ok(root) = root(&cx.settings).canonicalize() else { return Holds::Nothing };
        let Ok(path) = path.canonicalize() else { return Holds::Nothing };
        let own = root.join(safe_name(owner(cx).as_str()));
        if path.starts_with(&own) {
            let ours = path.is_file() && !path.to_string_lossy().ends_with(UNTRUSTED);
            return if ours { Holds::Own } else { Holds::Untrusted };
        }
        match (path.starts_with(&root), root.starts_with(&path)) {
            (true, _) => Holds::Others,
            // A search from above comes by.
            (false, true) => Holds::Untrusted,
            (false, false) => Holds::Nothing,
        }
    }

    fn named_in(&self, text: &str, cx: &CallContext) -> Holds {
        let root = root(&cx.settings);
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        if !text.contains(&*name) || !root.exists() {
            return Holds::Nothing;
        }
        // Whoever sits at the machine may look at everything on it; a chat at its own alone.
        let own = format!("/{}", safe_name(owner(cx).as_str()));
        let ends = |rest: &str| {
            let next = rest.chars().next();
            next.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')))
        };
        let is_own = |rest: &str| {
            rest.strip_prefix(own.as_str()).is_some_and(|rest| ends(rest) && !rest.contains(".."))
        };
        let all_own = text.split(&*name).skip(1).all(is_own);
        if all_own || cx.surface != Surface::Gateway { Holds::Untrusted } else { Holds::Others }
    }
}

/// Results of a subagent are its person's conversation's: both may read them, and they go with it.
fn owner(cx: &CallContext) -> &SessionId {
    cx.origin()
}

fn own(cx: &CallContext) -> PathBuf {
    root(&cx.settings).join(safe_name(owner(cx).as_str()))
}

/// Each home has a folder of its own, so that several people on one machine are not in each
/// other's way.
fn root(settings: &Settings) -> PathBuf {
    let home = Sha256::digest(settings.home().as_os_str().as_encoded_bytes());
    settings.temp().join(format!("hermes-results-{}", hex(&home, 4)))
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A new file in the last of these folders, whatever is there already; a link that somebody else
/// put there is not followed.
fn write_new(
    folders: &[&Path; 2],
    named: impl Fn(&str) -> String,
    text: &[u8],
) -> io::Result<PathBuf> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for count in 1..=SAME_NAME_MAX {
        let again = if count == 1 { String::new() } else { format!("-{count}") };
        let path = folders[1].join(named(&again));
        let mut file = match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        let written = is_private(&file, folders).and_then(|()| file.write_all(text));
        if let Err(error) = written {
            // The first error is the one worth telling.
            std::fs::remove_file(&path).unwrap_or_default();
            return Err(error);
        }
        return Ok(path);
    }
    Err(io::Error::other("this call has too many results by the same name"))
}

/// The folders belong to whoever owns a file that was just made, and to nobody else.
#[cfg(unix)]
fn is_private(file: &std::fs::File, folders: &[&Path]) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = file.metadata()?.uid();
    for folder in folders {
        let found = std::fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != owner || found.mode() & 0o077 != 0 {
            let message = format!("{} is open to others", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn is_private(_: &std::fs::File, _: &[&Path]) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use petasos_contract::settings::Parts;

    use super::*;

    #[test]
    fn a_chat_names_only_its_own_results_in_commands() {
        let temp = tempfile::tempdir().unwrap();
        let parts = Parts { temp: temp.path().to_owned(), ..Parts::default() };
        let settings = Arc::new(Settings::new(parts));
        let of = |surface, session: &str| {
            CallContext::new(Arc::clone(&settings), surface, SessionId::new(session))
        };
        let (una, home) = (of(Surface::Gateway, "una"), of(Surface::Cli, "una"));
        let root = root(&settings);
        let named = |cx: &CallContext, rest: &str| {
            TempSpill.named_in(&format!("cat {}{rest}", root.display()), cx)
        };
        assert_eq!(named(&una, "/una/x.txt"), Holds::Nothing, "nothing was kept yet");
        std::fs::create_dir(&root).unwrap();
        assert_eq!(named(&una, "/una/x.txt"), Holds::Untrusted);
        for others in ["/ben/x.txt", "", "/*/x.txt", "/una-2/x.txt", "/una/../ben/x.txt"] {
            assert_eq!(named(&una, others), Holds::Others, "{others}");
            assert_eq!(named(&home, others), Holds::Untrusted, "{others}");
        }
    }
}
