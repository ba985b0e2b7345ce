//! Paths of this machine and paths of the place where commands run, as two types.
//!
//! On a local terminal they name the same tree, on every other backend they do not. There is no
//! conversion: a file crosses by `Files::copy_in` and `copy_out`, which say so. What a caller means
//! by a path is told by [`resolve`], for every tool and every place.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

macro_rules! path {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(PathBuf);

        impl $name {
            /// Names a place; nothing is looked up.
            pub fn new(path: impl Into<PathBuf>) -> Self {
                Self(path.into())
            }

            /// The path as text of its own file system. Only whoever acts there may open it.
            pub fn as_path(&self) -> &Path {
                &self.0
            }

            /// A place relative to this one; an absolute `tail` replaces it.
            #[must_use]
            pub fn join(&self, tail: impl AsRef<Path>) -> Self {
                Self(self.0.join(tail))
            }

            /// The folder that holds it.
            pub fn parent(&self) -> Option<Self> {
                self.0.parent().map(|parent| Self(parent.to_owned()))
            }

            /// Whether it starts at a root.
            pub fn is_absolute(&self) -> bool {
                self.0.is_absolute()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.display().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    )+};
}

path! {
    /// A path on the machine that runs this program.
    HostPath,
    /// A path where commands run.
    TargetPath,
}

/// The absolute path that a caller means: `~` is the home, `~name` that of another user, the rest
/// starts at `base`; blanks belong to names, and `..` is folded as text. `home_of` tells the home
/// of a user; the nameless one is the caller.
pub fn resolve(path: &str, base: &Path, home_of: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
    let meant = match path.strip_prefix('~') {
        Some(rest) => {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let known = |home: &PathBuf| !home.as_os_str().is_empty();
            let home = is_user(name).then(|| home_of(name)).flatten().filter(known);
            home.map_or_else(|| base.join(path), |home| home.join(rest.trim_start_matches('/')))
        }
        None => base.join(path),
    };
    folded(&meant)
}

/// Nothing, or what a system takes for a user's name.
pub fn is_user(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    name.chars().all(is_plain) && !name.starts_with(['-', '.'])
}

/// The path without `.` and `..`, by text alone.
pub fn folded(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => folded.push(part),
        }
    }
    folded
}
