//! Everything that one program keeps, each behind its trait.

use std::fmt;
use std::sync::Arc;

use crate::boards::BoardStore;
use crate::changes::ChangeFeed;
use crate::leases::LeaseStore;
use crate::questions::QuestionStore;
use crate::schedules::ScheduleStore;
use crate::sessions::SessionStore;
use crate::usage::UsageStore;

/// The stores of a program. Cheap to clone; they may be one database or several.
#[derive(Clone)]
pub struct Stores {
    /// Conversations.
    pub sessions: Arc<dyn SessionStore>,
    /// Who may add to a conversation.
    pub leases: Arc<dyn LeaseStore>,
    /// What requests to models used.
    pub usage: Arc<dyn UsageStore>,
    /// Questions to people.
    pub questions: Arc<dyn QuestionStore>,
    /// Scheduled jobs.
    pub schedules: Arc<dyn ScheduleStore>,
    /// Boards of tasks.
    pub boards: Arc<dyn BoardStore>,
    /// Hearing of what was written.
    pub changes: Arc<dyn ChangeFeed>,
}

impl Stores {
    /// All of them in one database.
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: SessionStore
            + UsageStore
            + QuestionStore
            + ScheduleStore
            + BoardStore
            + ChangeFeed
            + 'static,
    {
        Self {
            sessions: Arc::clone(store) as _,
            leases: Arc::clone(store) as _,
            usage: Arc::clone(store) as _,
            questions: Arc::clone(store) as _,
            schedules: Arc::clone(store) as _,
            boards: Arc::clone(store) as _,
            changes: Arc::clone(store) as _,
        }
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stores")
    }
}
