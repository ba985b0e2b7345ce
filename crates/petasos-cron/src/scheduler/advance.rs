//! Moving jobs past what is due.

use std::sync::Arc;

use jiff::Timestamp;
use petasos_store::{
    Advance, JobChange, JobRow, JobState, NewOccurrence, OccurrenceState, StoreError, Trigger,
};

use super::{MissedRun, Scheduler};
use crate::job::{Job, moment};
use crate::late::{self, Due, Meeting, Misfire};

/// What became of one job that was due.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) claimed: bool,
    pub(super) skipped: usize,
    pub(super) missed: Vec<MissedRun>,
}

impl Scheduler {
    /// Takes what is due of one job.
    pub(super) async fn take(
        self: &Arc<Self>,
        row: JobRow,
        now: Timestamp,
    ) -> Result<Taken, StoreError> {
        let mut taken = Taken::default();
        if self.closing.is_cancelled() {
            return Ok(taken);
        }
        let (id, revision) = (row.job.id.clone(), row.revision);
        let job = match Job::read(row) {
            Ok(job) => job,
            Err(why) => return self.broken(&id, revision, why).await.map(|()| taken),
        };
        let misfire = if self.options.catch_up { job.body.misfire } else { Misfire::Skip };
        let last = moment(job.cursor_ms);
        let Some(due) = late::due(&job.schedule, last, now, misfire) else {
            // Its next instant was computed with other zone data, or by another clock.
            return self.reckon(&job, now).await.map(|()| taken);
        };
        let active = self.store.active(&job.id).await?;
        let waiting = active.iter().filter(|row| row.new.state == OccurrenceState::Due).count();
        let meeting = late::meeting(job.body.overlap, active.len() - waiting, waiting);
        let advance = advance(&job, &due, meeting, u32::try_from(active.len()).unwrap_or(u32::MAX));
        let skips = advance.notes.iter().filter(|it| it.state == OccurrenceState::Skipped).count();
        // Somebody else was first, or the job was changed: the next look sees how it is.
        let Some(done) = self.store.advance(advance, now.as_millisecond()).await? else {
            return Ok(taken);
        };
        taken.skipped = skips;
        if let Some(gone) = due.missed {
            let (last, count, late_by) = (gone.last, gone.count, None);
            taken.missed.push(MissedRun { job: job.clone(), last, count, late_by });
        }
        if let Some(row) = done.claimed {
            taken.claimed = true;
            if let Some(run) = due.run.filter(|run| run.late_by > late::GRACE_MIN) {
                let (last, count) = (run.at, run.folded + 1);
                let late_by = Some(run.late_by);
                taken.missed.push(MissedRun { job: job.clone(), last, count, late_by });
            }
            self.start(job, row);
        }
        Ok(taken)
    }

    /// A job that cannot be read is set aside, and stops no other.
    async fn broken(&self, id: &str, revision: i64, why: String) -> Result<(), StoreError> {
        tracing::warn!(job = id, why, "a job cannot be read");
        let state = Some((JobState::Failed, why));
        let change = JobChange { state, ..JobChange::default() };
        let now = self.wall.now().as_millisecond();
        self.store.change_job(id, revision, change, now).await.map(drop)
    }

    /// Computes the next instant of a job again.
    async fn reckon(&self, job: &Job, now: Timestamp) -> Result<(), StoreError> {
        let cursor = moment(job.cursor_ms).min(now);
        let next = job.schedule.next_after(cursor).map(Timestamp::as_millisecond);
        if next == job.next_ms && cursor.as_millisecond() == job.cursor_ms {
            return Ok(());
        }
        let times = Some((cursor.as_millisecond(), next));
        let change = JobChange { times, ..JobChange::default() };
        self.store.change_job(&job.id, job.revision, change, now.as_millisecond()).await.map(drop)
    }

    /// The clock was changed: instants that it has not reached again come again, and those that ran
    /// are known by their rows.
    pub(super) async fn follow_clock(&self, now: Timestamp) -> Result<(), StoreError> {
        for row in self.store.jobs().await? {
            if let Ok(job) = Job::read(row)
                && job.state == JobState::Scheduled
            {
                self.reckon(&job, now).await?;
            }
        }
        Ok(())
    }
}

/// What a job that is due is moved by.
fn advance(job: &Job, due: &Due, meeting: Meeting, active: u32) -> Advance {
    let note = |at: Timestamp, state: OccurrenceState, reason: &str| NewOccurrence {
        job: job.id.clone(),
        trigger: Trigger::Schedule,
        scheduled_ms: at.as_millisecond(),
        attempt: 1,
        state,
        reason: reason.to_owned(),
        first_ms: at.as_millisecond(),
        folded: 0,
        late_ms: 0,
    };
    let mut notes = Vec::new();
    let mut newest = moment(job.cursor_ms);
    if let Some(missed) = due.missed {
        let skipped = note(missed.last, OccurrenceState::Skipped, "missed");
        let (first_ms, folded) = (missed.first.as_millisecond(), missed.count - 1);
        notes.push(NewOccurrence { first_ms, folded, ..skipped });
        newest = missed.last;
    }
    let mut body = job.body.clone();
    if let Some(run) = due.run {
        let (state, reason) = match meeting {
            Meeting::Run => (OccurrenceState::Claimed, ""),
            Meeting::Wait => (OccurrenceState::Due, ""),
            Meeting::Skip => (OccurrenceState::Skipped, "overlap"),
        };
        let late_ms = i64::try_from(run.late_by.as_millis()).unwrap_or(i64::MAX);
        let (first_ms, folded) = (run.first.as_millisecond(), run.folded);
        notes.push(NewOccurrence { first_ms, folded, late_ms, ..note(run.at, state, reason) });
        newest = run.at;
        if meeting != Meeting::Skip {
            body.repeat.completed += 1;
        }
    }
    let used_up = body.repeat.times.is_some_and(|times| body.repeat.completed >= times);
    let next = if used_up { None } else { job.schedule.next_after(newest) };
    Advance {
        job: job.id.clone(),
        revision: job.revision,
        cursor_ms: newest.as_millisecond(),
        next_ms: next.map(Timestamp::as_millisecond),
        active,
        notes,
        body: (body != job.body).then(|| body.to_map()),
        completes: next.is_none(),
    }
}
