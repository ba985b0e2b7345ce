//! Files that go out: only regular ones, only from folders that may be sent from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use petasos_contract::Settings;
use petasos_store::MediaFile;

use crate::gateway::Shared;
use crate::options::GatewayOptions;
use crate::platform::SendError;

/// In a shared chat only files this young are sent from the workspace.
const YOUNG: Duration = Duration::from_mins(10);
/// Names in a home that are never sent, whatever folder they are in.
const SECRET: [&str; 8] =
    [".env", "auth.json", "config.yaml", "petasos.db", ".ssh", ".gnupg", ".aws", ".netrc"];

/// Where documents are, below a home.
pub(crate) const DOCUMENTS: &str = "cache/documents";

/// From where files may be sent.
#[derive(Debug, Clone)]
pub(crate) struct MediaRules {
    pub(crate) home: PathBuf,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) strict: bool,
    pub(crate) bytes_max: u64,
}

impl MediaRules {
    /// The workspace, our caches and the folders of the settings; fewer in a shared chat.
    pub(crate) fn of(
        settings: &Settings,
        options: &GatewayOptions,
        strict: bool,
        bytes_max: u64,
    ) -> Self {
        let mut folders: Vec<PathBuf> =
            ["cache", "results"].iter().map(|name| settings.home().join(name)).collect();
        folders.push(settings.workspace().to_path_buf());
        folders.extend(options.media_folders.iter().map(Into::into));
        Self { home: settings.home().to_owned(), folders, strict, bytes_max }
    }
}

/// Whether the name of a file, or of a folder above it, is one that secrets have.
pub fn may_hold_secrets(path: &Path) -> bool {
    path.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        SECRET.contains(&name.as_ref()) || name.ends_with(".pem") || name.starts_with("id_rsa")
    })
}

/// A file that may be sent; says why when it may not.
pub(crate) fn sendable(path: &Path, rules: &MediaRules) -> Result<MediaFile, String> {
    if rules.bytes_max == 0 {
        return Err("this platform takes no files".to_owned());
    }
    let real = std::fs::canonicalize(path).map_err(|_| "there is no such file".to_owned())?;
    let found = std::fs::metadata(&real).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let is_secret = may_hold_secrets(&real);
    let inside = |folder: &Path| {
        std::fs::canonicalize(folder).is_ok_and(|real_folder| real.starts_with(real_folder))
    };
    let cache = inside(&rules.home.join("cache")) || inside(&rules.home.join("results"));
    if is_secret || (inside(&rules.home) && !cache) {
        return Err("it may hold secrets".to_owned());
    }
    if !cache && !rules.folders.iter().any(|folder| inside(folder)) {
        return Err("it is outside the folders that files are sent from".to_owned());
    }
    let age = found.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or(YOUNG * 2);
    if rules.strict && !cache && age > YOUNG {
        return Err("in a shared chat only files that were just made are sent".to_owned());
    }
    if found.len() > rules.bytes_max {
        return Err(format!("too large ({} MB)", found.len() / 1_000_000));
    }
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(MediaFile { mime: mime_of(&name).to_owned(), path: real.display().to_string(), name })
}

impl Shared {
    /// A fresh place for a file that came in.
    pub(crate) fn media_path(&self, mime: &str) -> Result<PathBuf, String> {
        let (folder, ending) = match mime.split('/').next() {
            Some("image") => ("images", mime.rsplit('/').next().unwrap_or("bin")),
            Some("audio") => ("audio", "audio"),
            Some("video") => ("videos", "video"),
            _ => ("documents", "bin"),
        };
        let ending: String = ending.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let folder = self.settings.lock().home().join("cache").join(folder);
        make_private(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
        let mut random = [0_u8; 12];
        getrandom::fill(&mut random).map_err(|error| error.to_string())?;
        let number = random.iter().fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
        Ok(folder.join(format!("{number:024x}.{ending}")))
    }
}

/// Makes a folder that nobody else may read.
pub(crate) fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut make = std::fs::DirBuilder::new();
    make.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
    make.create(folder)
}

/// Keeps a file that came in; nobody else may read it.
pub(crate) fn keep(to: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut open = std::fs::OpenOptions::new();
    open.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    open.open(to)?.write_all(bytes)
}

/// The bytes of a file that is sent, without its metadata.
pub(crate) fn read(file: &MediaFile) -> Result<Vec<u8>, SendError> {
    std::fs::read(&file.path)
        .map(crate::bare::bare)
        .map_err(|error| SendError::Unreachable(format!("`{}`: {error}", file.path)))
}

/// Takes where, when and with what a picture was taken out of a file that came in.
pub(crate) fn lay_bare(file: &MediaFile) {
    const BYTES_MAX: u64 = 32 * 1024 * 1024;
    let small = std::fs::metadata(&file.path).is_ok_and(|found| found.len() <= BYTES_MAX);
    if !file.mime.starts_with("image/") || !small {
        return;
    }
    let Ok(bytes) = std::fs::read(&file.path) else { return };
    let bare = crate::bare::bare(bytes.clone());
    if bare == bytes {
        return;
    }
    let draft = PathBuf::from(format!("{}.bare", file.path));
    let kept = keep(&draft, &bare).and_then(|()| std::fs::rename(&draft, &file.path));
    if let Err(error) = kept {
        tracing::warn!(%error, "what a picture says about itself is kept with it");
    }
}

/// The media type of a name.
pub(crate) fn mime_of(name: &str) -> &'static str {
    let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "mp3" => "audio/mpeg",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "txt" | "md" | "log" | "csv" | "rs" | "py" | "toml" | "yaml" | "yml" => "text/plain",
        "html" | "htm" => "text/html",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s55_only_files_that_may_go_are_sent() {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        for made in [home.join("cache/images"), work.join("sub")] {
            std::fs::create_dir_all(made).unwrap();
        }
        let put = |path: &Path| {
            let mut file = std::fs::File::create(path).unwrap();
            std::io::Write::write_all(&mut file, b"x").unwrap();
        };
        for path in [
            home.join(".env"),
            home.join("cache/images/a.png"),
            work.join("b.txt"),
            folder.path().join("c"),
        ] {
            put(&path);
        }
        std::os::unix::fs::symlink(home.join(".env"), work.join("link")).unwrap();
        let rules = MediaRules {
            home: home.clone(),
            folders: vec![work.clone()],
            strict: false,
            bytes_max: 10,
        };
        let may = |path: PathBuf| sendable(&path, &rules).is_ok();
        assert!(may(home.join("cache/images/a.png")) && may(work.join("b.txt")));
        for refused in [
            home.join(".env"),
            work.join("link"),
            work.join("../home/.env"),
            folder.path().join("c"),
            work.join("sub"),
            "/etc/passwd".into(),
            work.join("nothing"),
        ] {
            assert!(!may(refused.clone()), "{}", refused.display());
        }
    }
}
