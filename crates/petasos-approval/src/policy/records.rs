//! Where the policy keeps what outlives its process: grants and decisions of each home.
//!
//! Files of the home, unless somebody put another store in their place.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::CallContext;
use petasos_store::{DecisionLog, GrantRecord, GrantStore};

use crate::grants::{Asked, GrantsFile, Held, covered};
use crate::log::DecisionFile;
use crate::permissions::Anchors;

/// A snapshot of the grants, and the same ready to be compared.
type Usable = (Arc<Vec<GrantRecord>>, Arc<Vec<Held>>);

/// The stores of one home.
pub(super) struct HomeRecords {
    pub(super) grants: Arc<dyn GrantStore>,
    pub(super) decisions: Arc<dyn DecisionLog>,
    usable: Mutex<Usable>,
}

/// The stores of every home this process works with.
#[derive(Default)]
pub(super) struct Records {
    homes: Mutex<HashMap<PathBuf, Arc<HomeRecords>>>,
}

impl Records {
    /// These instead of the files of a home.
    pub(super) fn put(
        &self,
        home: &Path,
        grants: Arc<dyn GrantStore>,
        decisions: Arc<dyn DecisionLog>,
    ) {
        let records = HomeRecords { grants, decisions, usable: Mutex::default() };
        self.homes.lock().insert(home.to_path_buf(), Arc::new(records));
    }

    pub(super) fn of(&self, home: &Path) -> Arc<HomeRecords> {
        let mut homes = self.homes.lock();
        if let Some(known) = homes.get(home) {
            return Arc::clone(known);
        }
        let records = Arc::new(HomeRecords {
            grants: Arc::new(GrantsFile::new(home)),
            decisions: Arc::new(DecisionFile::new(home)),
            usable: Mutex::default(),
        });
        homes.insert(home.to_path_buf(), Arc::clone(&records));
        records
    }
}

impl HomeRecords {
    /// The grants that between them cover all that was found.
    pub(super) fn granting(
        &self,
        asked: &Asked<'_>,
        anchors: Anchors<'_>,
        cx: &CallContext,
    ) -> Option<String> {
        let held = self.held();
        let here: Vec<&Held> = held.iter().filter(|it| it.grant.holds_at(&cx.address)).collect();
        covered(&here, asked, anchors)
    }

    fn held(&self) -> Arc<Vec<Held>> {
        let newest = self.grants.snapshot();
        let mut usable = self.usable.lock();
        if Arc::ptr_eq(&usable.0, &newest) {
            return Arc::clone(&usable.1);
        }
        let held = newest.iter().filter_map(|grant| {
            Held::new(grant.clone())
                .inspect_err(|problem| tracing::warn!(grant.id, problem, "a grant is not used"))
                .ok()
        });
        *usable = (Arc::clone(&newest), Arc::new(held.collect()));
        Arc::clone(&usable.1)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.homes.lock().keys()).finish()
    }
}
