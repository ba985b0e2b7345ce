//! Pages that were read, kept for a while in the home with what the server said about their age.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petasos_contract::Settings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const USUAL: Duration = Duration::from_hours(1);
const LONGEST: Duration = Duration::from_hours(24);
const KEPT: Duration = Duration::from_hours(24 * 7);
const BYTES_MAX: u64 = 500_000_000;

/// A page as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) url: String,
    pub(crate) final_url: String,
    pub(crate) content_type: String,
    pub(crate) title: Option<String>,
    pub(crate) byline: Option<String>,
    pub(crate) published: Option<String>,
    pub(crate) lang: Option<String>,
    pub(crate) text: String,
    /// For asking again whether it has changed.
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
    /// Seconds since the epoch.
    pub(crate) fresh_until: u64,
    pub(crate) downgraded: bool,
    /// Who read it, when it was not we.
    #[serde(default)]
    pub(crate) provider: Option<String>,
    /// Whether its scripts ran.
    #[serde(default)]
    pub(crate) rendered: bool,
}

/// The folder of kept pages.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self { folder: settings.home().join("cache").join("web") }
    }

    fn file(&self, url: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("page_{}.{ending}", digest(url)))
    }

    /// What was remembered under a key, if that is not too long ago.
    pub(crate) fn recall<T: DeserializeOwned>(&self, key: &str, within: Duration) -> Option<T> {
        let path = self.folder.join(format!("answer_{}.json", digest(key)));
        let age = std::fs::metadata(&path).ok()?.modified().ok()?.elapsed().ok()?;
        let bytes = if age < within { std::fs::read(&path).ok()? } else { return None };
        serde_json::from_slice(&bytes).ok()
    }

    /// Remembers something under a key. What cannot be kept is only not kept.
    pub(crate) fn remember<T: Serialize>(&self, key: &str, what: &T) {
        let path = self.folder.join(format!("answer_{}.json", digest(key)));
        let Ok(bytes) = serde_json::to_vec(what) else { return };
        if let Err(error) = private(&self.folder).and_then(|()| write(&path, &bytes)) {
            tracing::warn!(%error, "an answer was not kept");
        }
    }

    /// A page, whatever its age.
    pub(crate) fn find(&self, url: &str) -> Option<Kept> {
        let bytes = std::fs::read(self.file(url, "json")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps a page; gives the path of its text. What cannot be kept is only not kept.
    pub(crate) fn keep(&self, page: &Kept) -> Option<PathBuf> {
        let text = self.file(&page.url, "md");
        let record = serde_json::to_vec(page).ok()?;
        let written = private(&self.folder)
            .and_then(|()| write(&text, page.text.as_bytes()))
            .and_then(|()| write(&self.file(&page.url, "json"), &record));
        match written {
            Ok(()) => {
                self.sweep();
                Some(text)
            }
            Err(error) => {
                tracing::warn!(%error, "a page was not kept");
                None
            }
        }
    }

    /// Removes what is old, and the oldest while there is too much.
    fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let about = entry.metadata().ok()?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (modified, size, path) in files {
            let is_old = modified.elapsed().is_ok_and(|age| age > KEPT);
            if !is_old && total <= BYTES_MAX {
                break;
            }
            if std::fs::remove_file(&path).is_ok() {
                total = total.saturating_sub(size);
            }
        }
    }
}

/// A name for a file: half a digest tells any two texts apart.
pub(crate) fn digest(text: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let (half, _) = digest.split_at(16);
    format!("{:032x}", u128::from_be_bytes(half.try_into().unwrap_or_default()))
}

fn private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Replaces a file whole, readable by its owner alone.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let part = path.with_extension(format!("part{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    std::fs::rename(part, path)
}

/// Now, in seconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Until when a reply may be shown again: `None` when it must not be kept.
pub(crate) fn fresh_until(control: &str) -> Option<u64> {
    let rules: Vec<String> =
        control.split(',').map(|rule| rule.trim().to_ascii_lowercase()).collect();
    if rules.iter().any(|rule| rule == "no-store") {
        return None;
    }
    if rules.iter().any(|rule| rule == "no-cache") {
        return Some(now());
    }
    let age = rules.iter().find_map(|rule| rule.strip_prefix("max-age=")?.parse().ok());
    let age = age.map_or(USUAL, Duration::from_secs).min(LONGEST);
    Some(now() + age.as_secs())
}
