//! What dead processes left: reported as unknown, or run once more where nothing had begun.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use petasos_store::{NewOccurrence, OccurrenceRow, OccurrenceState, StoreError, Trigger};

use super::Scheduler;
use crate::job::{Job, moment};
use crate::late;

/// Without a heartbeat for so long a run is suspected.
const SILENT: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);
/// A machine that slept lets its runs speak first.
const SUSPECTED: Duration = Duration::from_secs(20);
/// So far back something that was interrupted is looked for.
const LOOKED_AT: u32 = 200;

impl Scheduler {
    /// Ends what was left, and begins again what had not begun.
    pub(super) async fn sweep(self: &Arc<Self>, now: Timestamp) -> Result<(), StoreError> {
        let silent = self.suspected(now).await?;
        let gone = self.store.abandon(silent, now.as_millisecond()).await?;
        for row in &gone {
            let state = row.new.state.as_str();
            tracing::warn!(occurrence = row.id, job = row.new.job, state, "its process is gone");
        }
        if self.worker.stopped().is_some() || self.draining.is_cancelled() {
            return Ok(());
        }
        let recent = self.store.occurrences(None, LOOKED_AT).await?;
        for row in gone.into_iter().chain(recent) {
            if row.new.state == OccurrenceState::Interrupted && row.new.attempt == 1 {
                self.try_again(row, now).await?;
            }
        }
        Ok(())
    }

    /// Those that were as silent a while ago.
    async fn suspected(&self, now: Timestamp) -> Result<Vec<(String, i64)>, StoreError> {
        let before = now.checked_sub(SILENT).unwrap_or(now).as_millisecond();
        let silent = self.store.silent(before).await?;
        let passed = tokio::time::Instant::now();
        let mut suspects = self.suspects.lock();
        suspects.retain(|one, _| silent.contains(one));
        for one in silent {
            suspects.entry(one).or_insert(passed);
        }
        let long = suspects.iter().filter(|(_, since)| passed.duration_since(**since) >= SUSPECTED);
        Ok(long.map(|(one, _)| one.clone()).collect())
    }

    /// One that ended before anything was called, while it may still run.
    async fn try_again(
        self: &Arc<Self>,
        row: OccurrenceRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if row.new.trigger != Trigger::Schedule {
            return Ok(());
        }
        let Some(found) = self.store.job(&row.new.job).await? else { return Ok(()) };
        let Ok(job) = Job::read(found) else { return Ok(()) };
        let due = moment(row.new.scheduled_ms);
        let late = Duration::try_from(now.duration_since(due)).unwrap_or_default();
        let grace = late::grace(&job.schedule, due, job.body.misfire);
        if grace.is_some_and(|grace| late > grace) {
            return Ok(());
        }
        let again = NewOccurrence {
            attempt: 2,
            state: OccurrenceState::Claimed,
            reason: String::new(),
            late_ms: i64::try_from(late.as_millis()).unwrap_or(i64::MAX),
            ..row.new
        };
        if let Some(row) = self.store.demand(again, now.as_millisecond()).await? {
            self.start(job, row);
        }
        Ok(())
    }
}
