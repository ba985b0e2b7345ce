//! Which conversation a message belongs to.

use petasos_contract::Address;
use petasos_session::notes_of;
use petasos_store::{ChatKey, ChatKind, MAIN_PROFILE};

use crate::options::GatewayOptions;
use crate::platform::Arrival;

/// Whose notes a conversation reads: the home's own, or those of its chat and person.
pub(crate) fn notes_for(key: &ChatKey, address: &Address, home: bool) -> Option<String> {
    let alone = key.user.is_some() || !key.kind.is_shared();
    let user = address.user.clone().filter(|_| alone);
    (!home).then(|| notes_of(&Address { user, thread: None, ..address.clone() }))
}

/// The conversation of an arrival; nothing when it names neither a chat nor a person.
pub fn key_of(
    platform: &str,
    account: &str,
    arrival: &Arrival,
    options: &GatewayOptions,
) -> Option<ChatKey> {
    let user = arrival.sender.id.clone().filter(|id| !id.is_empty());
    let has_chat = !arrival.chat.is_empty();
    let chat = if has_chat { arrival.chat.clone() } else { user.clone()? };
    let apart = match (arrival.chat_kind, &arrival.thread) {
        (ChatKind::Dm, _) => false,
        (kind, None) if kind.is_shared() && kind != ChatKind::Thread => options.group_per_user,
        (kind, _) => kind.is_shared() && options.thread_per_user,
    };
    Some(ChatKey {
        profile: MAIN_PROFILE.to_owned(),
        platform: platform.to_owned(),
        account: account.to_owned(),
        kind: arrival.chat_kind,
        chat,
        thread: arrival.thread.clone(),
        user: user.filter(|_| apart && has_chat),
    })
}
