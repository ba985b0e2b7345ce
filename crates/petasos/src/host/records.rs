//! Where this program keeps grants, decisions and usage: files of the home, each behind its trait.

use std::sync::Arc;

use petasos_approval::grants::GrantsFile;
use petasos_approval::log::DecisionFile;
use petasos_providers::ledger::usage_log::UsageLog;
use petasos_store::{DecisionLog, GrantStore, UsageStore};

use super::Host;

impl Host {
    /// What was granted for good.
    pub fn grants(&self) -> Arc<dyn GrantStore> {
        Arc::new(GrantsFile::new(self.settings.home()))
    }

    /// What became of calls that were judged.
    pub fn decisions(&self) -> Arc<dyn DecisionLog> {
        Arc::new(DecisionFile::new(self.settings.home()))
    }

    /// What requests to models used, whether their conversations are stored or not.
    pub fn usage(&self) -> Arc<dyn UsageStore> {
        Arc::new(UsageLog::new(self.settings.home()))
    }
}
