//! What dead processes left: reported as unknown, or run once more where nothing had begun.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use petasos_store::{JobState, NewOccurrence, OccurrenceRow, OccurrenceState, StoreError};

use super::{LostRun, MissedRun, Scheduler};
use crate::job::{Job, moment};
use crate::late;

/// Without a heartbeat for so long a run is suspected.
const SILENT: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);
/// A machine that slept lets its runs speak first.
const SUSPECTED: Duration = Duration::from_secs(20);
/// So many that were interrupted are looked at together.
const TOGETHER: u32 = 1000;
/// What was missed longer ago is told to nobody.
const REMEMBERED: Duration = Duration::from_hours(7 * 24);

impl Scheduler {
    /// Ends what was left, and begins again what had not begun.
    pub(super) async fn sweep(
        self: &Arc<Self>,
        now: Timestamp,
        missed: &mut Vec<MissedRun>,
    ) -> Result<(), StoreError> {
        let silent = self.suspected(now).await?;
        let gone = self.store.abandon(silent, now.as_millisecond()).await?;
        for row in &gone {
            let state = row.new.state.as_str();
            tracing::warn!(occurrence = row.id, job = row.new.job, state, "its process is gone");
        }
        self.report(gone).await?;
        if self.worker.stopped().is_some() || self.closing.is_cancelled() {
            return Ok(());
        }
        for row in self.store.interrupted(TOGETHER).await? {
            self.try_again(row, now, missed).await?;
        }
        Ok(())
    }

    /// Says which runs nobody knows the end of.
    async fn report(&self, gone: Vec<OccurrenceRow>) -> Result<(), StoreError> {
        let mut lost = Vec::new();
        for row in gone.into_iter().filter(|row| row.new.state == OccurrenceState::Unknown) {
            if let Some(found) = self.store.job(&row.new.job).await?
                && let Ok(job) = Job::read(found)
            {
                lost.push(LostRun { job, row });
            }
        }
        if !lost.is_empty() {
            self.worker.lost(lost).await;
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
        missed: &mut Vec<MissedRun>,
    ) -> Result<(), StoreError> {
        let Some(found) = self.store.job(&row.new.job).await? else { return Ok(()) };
        let Ok(job) = Job::read(found) else { return Ok(()) };
        // One that a person paused meanwhile, or must look at, waits for them.
        if !matches!(job.state, JobState::Scheduled | JobState::Completed) {
            return Ok(());
        }
        let due = moment(row.new.scheduled_ms);
        let late = Duration::try_from(now.duration_since(due)).unwrap_or_default();
        let grace = late::grace(&job.schedule, due, job.body.misfire);
        let late_ms = i64::try_from(late.as_millis()).unwrap_or(i64::MAX);
        // One that only waited for a place may wait again; one that had begun is tried once more.
        let given_up = row.started_ms.is_some() && row.new.attempt > 1;
        let attempt = row.new.attempt + 1;
        let again = NewOccurrence { attempt, reason: String::new(), late_ms, ..row.new };
        if given_up || grace.is_some_and(|grace| late > grace) {
            // It is over for good, which is noted, and told while anybody remembers it.
            let (state, reason) = (OccurrenceState::Skipped, "missed".to_owned());
            let over = NewOccurrence { state, reason, ..again };
            let new = self.store.demand(over, now.as_millisecond()).await?.is_some();
            if new && late < REMEMBERED {
                missed.push(MissedRun { job, last: due, count: 1, late_by: None });
            }
            return Ok(());
        }
        let again = NewOccurrence { state: OccurrenceState::Claimed, ..again };
        if let Some(row) = self.store.demand(again, now.as_millisecond()).await? {
            self.start(job, row);
        }
        Ok(())
    }
}
