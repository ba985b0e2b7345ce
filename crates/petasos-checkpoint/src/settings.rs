//! The `checkpoints` section.

use petasos_contract::settings::Section;
use serde::Deserialize;

/// How many copies, and how large.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct CheckpointSettings {
    /// Whether copies are made at all.
    pub enabled: bool,
    /// Copies that are kept.
    pub max_snapshots: usize,
    /// Files that one copy may have to look at anew.
    pub max_files: usize,
    /// Megabytes of one file; larger ones are not copied.
    pub max_file_size_mb: u64,
    /// Megabytes of the store; the oldest copies go first.
    pub max_total_size_mb: u64,
    /// Whether the copies of folders that are gone are removed.
    pub auto_prune: bool,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_snapshots: 50,
            max_files: 50_000,
            max_file_size_mb: 10,
            max_total_size_mb: 500,
            auto_prune: true,
        }
    }
}

impl Section for CheckpointSettings {
    const NAME: &'static str = "checkpoints";
}
