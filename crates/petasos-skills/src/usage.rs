//! How often each skill is read, used and changed, and who made it: `skills/.usage.json`, in the
//! format that older homes have. Fields that we do not know are kept.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::Settings;
use petasos_fs::Record as File;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::SkillError;
use crate::places;

/// What is known of one skill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Who made it: `agent`, or nothing for people and hubs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// How often it was called.
    pub use_count: u64,
    /// How often it was read.
    pub view_count: u64,
    /// How often it was changed.
    pub patch_count: u64,
    /// When it was called last.
    pub last_used_at: Option<String>,
    /// When it was read last.
    pub last_viewed_at: Option<String>,
    /// When it was changed last.
    pub last_patched_at: Option<String>,
    /// When it was first seen.
    pub created_at: Option<String>,
    /// `active`, `stale`, `archived`, or `disabled` for one that cannot be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether it may not be removed.
    pub pinned: bool,
    /// When it was put away.
    pub archived_at: Option<String>,
    /// What we do not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Record {
    /// Whether it is switched off.
    pub fn is_off(&self) -> bool {
        matches!(self.state.as_deref(), Some("disabled" | "archived"))
    }

    /// How much it is used.
    pub fn weight(&self) -> u64 {
        self.use_count + self.view_count
    }

    /// When somebody last had to do with it, by the text of the time, which sorts.
    pub fn last_touched(&self) -> Option<&str> {
        let all =
            [&self.last_used_at, &self.last_viewed_at, &self.last_patched_at, &self.created_at];
        all.into_iter().filter_map(|at| at.as_deref()).max()
    }
}

/// What happened to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    Viewed,
    Used,
    Changed,
}

/// All records.
#[derive(Debug, Clone, Default)]
pub struct Usage(BTreeMap<String, Record>);

impl Usage {
    /// Reads them; a file that cannot be read knows nothing.
    pub fn of(settings: &Settings) -> Self {
        let all = file(settings).read::<BTreeMap<String, Record>>();
        Self(all.unwrap_or_else(|error| {
            tracing::warn!(%error, "the usage of skills is not known");
            BTreeMap::new()
        }))
    }

    /// What is known of a skill.
    pub fn get(&self, name: &str) -> Option<&Record> {
        self.0.get(name)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Record)> {
        self.0.iter()
    }

    /// Changes what is known of a skill, beside other processes that do.
    pub fn edit<R>(
        settings: &Settings,
        name: &str,
        change: impl FnOnce(&mut Record) -> R,
    ) -> Result<R, SkillError> {
        let file = file(settings);
        let changed = file.edit(|all: &mut BTreeMap<String, Record>| {
            let record = all.entry(name.to_owned()).or_default();
            if record.created_at.is_none() {
                record.created_at = Some(now());
            }
            change(record)
        });
        changed.map_err(|error| SkillError::disk("written", file.path(), &error))
    }

    /// Counts something. Counting is no reason to fail.
    pub(crate) fn count(settings: &Settings, name: &str, what: Happened) {
        let counted = Self::edit(settings, name, |record| {
            let (count, at) = match what {
                Happened::Viewed => (&mut record.view_count, &mut record.last_viewed_at),
                Happened::Used => (&mut record.use_count, &mut record.last_used_at),
                Happened::Changed => (&mut record.patch_count, &mut record.last_patched_at),
            };
            *count += 1;
            *at = Some(now());
        });
        if let Err(error) = counted {
            tracing::warn!(%error, "the usage of a skill is not counted");
        }
    }
}

fn file(settings: &Settings) -> File {
    File::at(path(settings))
}

fn path(settings: &Settings) -> PathBuf {
    places::home(settings).join(".usage.json")
}

/// Now, as `2026-01-31T23:59:59Z`.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    at(since.as_secs())
}

/// The seconds of a time as text; also with a fraction and an offset, as older homes have it.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let clock = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // Days since 1970 by eras of 400 years that begin in March, as below.
    let (year, march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year / 400, year % 400);
    let day_of_year = (153 * march + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + clock.0 * 3600 + clock.1 * 60 + clock.2)
}

/// A time in seconds, as text.
pub(crate) fn at(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // The civil calendar from days since 1970, by eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_civil_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(at(seconds), text);
            assert_eq!(super::seconds(text), Some(seconds));
        }
    }
}
