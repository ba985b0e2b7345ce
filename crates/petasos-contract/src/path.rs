//! Paths of this machine and paths of the place where commands run, as two types.
//!
//! On a local terminal they name the same tree, on every other backend they do not. There is no
//! conversion: a file crosses by `Files::copy_in` and `copy_out`, which say so.

use std::fmt;
use std::path::{Path, PathBuf};

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
