//! Starts that follow each other too fast: a gateway that dies at once and is started again by its
//! service manager must not knock at platforms every few seconds.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Starts within this time are counted.
const WINDOW_MS: u64 = 120_000;
/// So many are nothing unusual.
const FREE: usize = 5;
/// The longest pause, in seconds.
const PAUSE_MAX: u64 = 60;

fn file(home: &Path) -> PathBuf {
    home.join("gateway.starts")
}

/// Notes a start; gives how long it should wait before it connects.
pub(super) fn begun(home: &Path) -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let kept = std::fs::read_to_string(file(home)).unwrap_or_default();
    let is_recent = |at: &u64| *at <= now && now - *at < WINDOW_MS;
    let mut starts: Vec<u64> =
        kept.lines().filter_map(|line| line.parse().ok()).filter(is_recent).collect();
    starts.push(now);
    let text: Vec<String> = starts.iter().map(ToString::to_string).collect();
    if let Err(error) =
        petasos_fs::write(&file(home), text.join("\n").as_bytes(), petasos_fs::Mode::Exactly(0o600))
    {
        tracing::debug!(%error, "a start is not noted");
    }
    pause_after(starts.len())
}

/// It ended because somebody wanted it to: the next start is the first.
pub(super) fn ended_well(home: &Path) {
    // A file that is not there is as good.
    std::fs::remove_file(file(home)).unwrap_or_default();
}

fn pause_after(starts: usize) -> Duration {
    let over = starts.saturating_sub(FREE);
    if over == 0 {
        return Duration::ZERO;
    }
    let doubled = u32::try_from(over).ok().and_then(|over| 2_u64.checked_pow(over));
    Duration::from_secs(doubled.unwrap_or(PAUSE_MAX).min(PAUSE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s145_the_sixth_start_in_two_minutes_waits_and_a_wanted_end_forgets() {
        let waits: Vec<u64> = (1..=12).map(|count| pause_after(count).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 2, 4, 8, 16, 32, 60, 60]);
        let home = tempfile::tempdir().expect("a folder");
        for _ in 0..5 {
            assert_eq!(begun(home.path()), Duration::ZERO);
        }
        assert_eq!(begun(home.path()), Duration::from_secs(2));
        ended_well(home.path());
        assert_eq!(begun(home.path()), Duration::ZERO);
    }
}
