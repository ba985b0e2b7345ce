//! What a platform is given while it reads: where to put what came in, and how far it was read.

use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_store::StoreError;

use crate::account::{Account, AccountState};
use crate::gateway::Shared;
use crate::menu::{MenuItem, MenuLimits};
use crate::platform::Arrival;

/// The gateway's end of a connection.
#[derive(Clone)]
pub struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(crate) account: Arc<Account>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Link").field(&self.account.name()).finish()
    }
}

impl Link {
    /// Takes in what came. It is stored, or nothing of it is wanted, when this answers; an error
    /// means that the platform must deliver it again.
    pub async fn take(&self, arrival: Arrival) -> Result<(), StoreError> {
        let taken = self.shared.take(&self.account, arrival).await;
        self.shared.note_storing(taken.as_ref().err());
        taken
    }

    /// Fetches a file that came with something, if whoever sent it may write at all: strangers do
    /// not fill the disk. What does not come is noted.
    pub(crate) fn fetch<'a, T: Send + 'a>(
        &'a self,
        arrival: &'a mut Arrival,
        file: impl Future<Output = Result<T, String>> + Send + 'a,
    ) -> BoxFuture<'a, Option<T>> {
        let file = Box::pin(file);
        Box::pin(async move {
            let fetched = if self.shared.lets_in(&self.account, arrival).await {
                file.await
            } else {
                Err("its sender may not write".to_owned())
            };
            fetched.map_err(|why| arrival.lost.push(why)).ok()
        })
    }

    /// How large a file may be that is taken, of those that the platform gives.
    pub(crate) fn file_bytes_max(&self, platform: u64) -> u64 {
        self.shared.options().file_bytes_max.min(platform)
    }

    /// Something was really read: the account is connected.
    pub fn progress(&self) {
        self.account.set_state(AccountState::Connected);
    }

    /// Connected, but not whole.
    pub fn degraded(&self, why: &str) {
        self.account.set_state(AccountState::Degraded(why.to_owned()));
    }

    /// Whether as much is undone as may be: whoever comes must come again.
    pub async fn is_full(&self) -> bool {
        self.shared.is_full().await
    }

    /// Waits while as much is undone as may be.
    pub async fn room(&self) {
        self.shared.room().await;
    }

    /// Where reading goes on.
    pub async fn cursor(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.shared.store.cursor(self.account.def.name, self.account.platform.account(), name).await
    }

    /// Reading goes on here from now on.
    pub async fn set_cursor(&self, name: &str, value: &str) -> Result<(), StoreError> {
        let (platform, account) = (self.account.def.name, self.account.platform.account());
        self.shared.store.set_cursor(platform, account, name, value).await
    }

    /// A fresh place for a file that came in, with this ending.
    pub fn media_path(&self, mime: &str) -> Result<std::path::PathBuf, String> {
        self.shared.media_path(mime)
    }

    /// The commands to show to people, as many as the platform takes.
    pub async fn menu(&self, limits: MenuLimits) -> Vec<MenuItem> {
        self.shared.menu(limits).await
    }

    /// Whether the settings name this chat among those that are read.
    pub fn is_listed_chat(&self, chat: &str) -> bool {
        let options = self.account.options();
        options.only_chats.contains(chat) || options.open_chats.contains(chat)
    }

    /// Whether a message of ours has this name, on this account.
    pub fn is_known_peer(&self, user: &str) -> bool {
        self.account.options().allowed.contains(user)
    }
}
