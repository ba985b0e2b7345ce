//! A throw-away user home with an agent home and a workspace inside.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
}

impl Home {
    /// A new one, with an empty workspace and no agent home yet.
    #[expect(clippy::expect_used, reason = "tests only: without a temporary folder nothing runs")]
    pub fn temp() -> Self {
        let root = TempDir::new().expect("a temporary folder");
        std::fs::create_dir(root.path().join("work")).expect("a workspace");
        Self { root }
    }

    /// The user's home directory.
    pub fn user(&self) -> &Path {
        self.root.path()
    }

    /// The agent home; it need not exist.
    pub fn agent(&self) -> PathBuf {
        self.root.path().join(".petasos")
    }

    /// The workspace.
    pub fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes a file below the user's home, making its folders.
    #[expect(clippy::expect_used, reason = "tests only")]
    #[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic write")]
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("folders");
        }
        std::fs::write(&path, content).expect("a file");
        path
    }
}
