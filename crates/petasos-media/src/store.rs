//! The media store: what was fetched or made, in the home's caches, for a time and within a size.
//!
//! Names are ours and say nothing of their source. Old files go first, whoever made them; a file
//! that another process removed meanwhile is no error.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use petasos_fs::{FsError, Mode};

use crate::fault::MediaError;

/// The largest file that is kept.
const FILE_BYTES_MAX: u64 = 500 << 20;
const DAY: Duration = Duration::from_hours(24);

/// What a file is, which is where it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// Pictures.
    Images,
    /// Films.
    Videos,
    /// Recordings and speech.
    Audio,
    /// Pictures of screens and pages.
    Screenshots,
}

impl Shelf {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Images, Self::Videos, Self::Audio, Self::Screenshots];

    /// Its folder below `cache`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::Videos => "videos",
            Self::Audio => "audio",
            Self::Screenshots => "screenshots",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Images => "image",
            Self::Videos => "video",
            Self::Audio => "audio",
            Self::Screenshots => "screenshot",
        }
    }

    fn kept_for(self) -> Duration {
        match self {
            Self::Screenshots => DAY,
            Self::Images | Self::Videos | Self::Audio => DAY * 7,
        }
    }
}

/// What a cleaning did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files that went.
    pub removed: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The caches of one home.
#[derive(Debug, Clone)]
pub struct Store {
    cache: PathBuf,
    bytes_max: u64,
}

impl Store {
    /// Of this home: 2 GB together.
    pub fn of(home: &Path) -> Self {
        Self { cache: home.join("cache"), bytes_max: 2_000_000_000 }
    }

    /// With another size.
    #[must_use]
    pub fn holding(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// Keeps bytes as a new file that only its owner reads, and cleans.
    pub fn keep(&self, place: Shelf, ending: &str, bytes: &[u8]) -> Result<PathBuf, MediaError> {
        let size = bytes.len() as u64;
        if size > FILE_BYTES_MAX.min(self.bytes_max) {
            let told = format!("{} MB are more than one file of the store", size / 1_000_000);
            return Err(MediaError::new("too_large", told));
        }
        let path = self.fresh(place, ending)?;
        petasos_fs::write(&path, bytes, Mode::Exactly(0o600)).map_err(|error| unkept(&error))?;
        self.clean(SystemTime::now());
        Ok(path)
    }

    /// A path that nothing has yet, for a program that writes the file itself.
    pub fn fresh(&self, place: Shelf, ending: &str) -> Result<PathBuf, MediaError> {
        let random = getrandom::u32()
            .map_err(|error| MediaError::new("upstream", format!("no random number: {error}")))?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let folder = self.cache.join(place.folder());
        private(&folder).map_err(|error| {
            let told = format!("`{}` cannot be made: {error}", folder.display());
            MediaError::new("upstream", told)
        })?;
        let name = format!("{}_{}_{random:08x}.{ending}", place.word(), since.as_secs());
        Ok(folder.join(name))
    }

    /// Removes what is too old, then the oldest until the rest fits. Links are removed as links.
    pub fn clean(&self, now: SystemTime) -> Cleaned {
        let (mut cleaned, mut left) = (Cleaned::default(), Vec::new());
        for shelf in Shelf::ALL {
            let Ok(entries) = fs::read_dir(self.cache.join(shelf.folder())) else { continue };
            for entry in entries.flatten() {
                let Ok(found) = entry.path().symlink_metadata() else { continue };
                if found.is_dir() {
                    continue;
                }
                let bytes = if found.is_file() { found.len() } else { 0 };
                let at = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let is_old = now.duration_since(at).is_ok_and(|age| age > shelf.kept_for());
                if is_old {
                    cleaned.remove(&entry.path(), bytes);
                } else {
                    left.push((at, bytes, entry.path()));
                }
            }
        }
        let mut size: u64 = left.iter().map(|(_, bytes, _)| bytes).sum();
        left.sort();
        for (_, bytes, path) in left {
            if size <= self.bytes_max {
                break;
            }
            size = size.saturating_sub(bytes);
            cleaned.remove(&path, bytes);
        }
        cleaned
    }
}

impl Cleaned {
    fn remove(&mut self, path: &Path, bytes: u64) {
        match fs::remove_file(path) {
            Ok(()) => {
                self.removed += 1;
                self.bytes += bytes;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, path = %path.display(), "media was not removed"),
        }
    }
}

fn private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn unkept(error: &FsError) -> MediaError {
    MediaError::new("upstream", format!("the file could not be kept: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn e13_what_is_kept_is_private_and_named_by_us() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::of(home.path());
        let path = store.keep(Shelf::Images, "png", b"x").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("image_"), "{name}");
        assert_eq!(path.extension().unwrap(), "png");
        assert_ne!(store.keep(Shelf::Images, "png", b"x").unwrap(), path);
        assert_eq!(
            store.holding(2).keep(Shelf::Audio, "wav", b"xyz").unwrap_err().kind,
            "too_large"
        );
    }

    #[test]
    fn the_old_and_then_the_oldest_go_and_links_are_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let outside = home.path().join("mine.txt");
        fs::File::create(&outside).unwrap();
        let store = Store::of(home.path()).holding(25);
        let now = SystemTime::now();
        let put = |shelf: Shelf, age: Duration| {
            let path = store.fresh(shelf, "bin").unwrap();
            let mut file = fs::File::create(&path).unwrap();
            std::io::Write::write_all(&mut file, &[0; 10]).unwrap();
            file.set_modified(now - age).unwrap();
            path
        };
        let shot = put(Shelf::Screenshots, DAY * 2);
        let ancient = put(Shelf::Images, DAY * 8);
        let oldest = put(Shelf::Audio, DAY * 3);
        let young = [put(Shelf::Videos, DAY * 2), put(Shelf::Images, DAY)];
        std::os::unix::fs::symlink(&outside, home.path().join("cache/images/link")).unwrap();
        let cleaned = store.clean(now);
        assert!(cleaned.removed >= 3, "{cleaned:?}");
        assert!([shot, ancient, oldest].iter().all(|path| !path.exists()));
        assert!(young.iter().all(|path| path.exists()) && outside.exists());
    }
}
