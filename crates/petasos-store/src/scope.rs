//! Whose conversations somebody may see.

use petasos_contract::CallContext;
use petasos_contract::address::Address;
use petasos_contract::context::Surface;

/// Which conversations are seen, by whose they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SessionScope {
    /// Those of whoever sits at this machine: all that are held in no chat.
    #[default]
    Local,
    /// Those of one chat. One that only a certain person takes part in is seen by that person
    /// alone; threads are open to everybody in their chat.
    Chat(Address),
    /// All of them: for the person at the machine, never for a model.
    Everyone,
}

impl SessionScope {
    /// What a conversation of this owner may see of others.
    pub fn of(owner: Option<&Address>) -> Self {
        owner.map_or(Self::Local, |owner| Self::Chat(owner.clone()))
    }

    /// Whether a conversation of this owner is seen.
    pub fn sees(&self, owner: Option<&Address>) -> bool {
        match (self, owner) {
            (Self::Everyone, _) | (Self::Local, None) => true,
            (Self::Local, Some(_)) | (Self::Chat(_), None) => false,
            (Self::Chat(ours), Some(theirs)) => {
                ours.platform == theirs.platform
                    && ours.chat == theirs.chat
                    && (theirs.user.is_none() || theirs.user == ours.user)
            }
        }
    }
}

/// The chat that a call belongs to; nothing for one that is made at the machine itself.
pub fn owner_of(cx: &CallContext) -> Option<Address> {
    // A surface without chats is its own platform; callers over HTTP are told apart by address.
    let own_platform = cx.address.platform.as_str() == cx.surface.as_str();
    let is_local = own_platform && !matches!(cx.surface, Surface::Gateway | Surface::ApiServer);
    (!is_local).then(|| (*cx.address).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_sees_its_own_and_nobody_elses() {
        let of = |chat: &str, user: Option<&str>| Address {
            user: user.map(Into::into),
            ..Address::chat("telegram", chat)
        };
        let (ann, ben) = (of("1", Some("ann")), of("1", Some("ben")));
        let (shared, elsewhere) = (of("1", None), of("2", Some("ann")));
        let sees = |from: &Address, to: Option<&Address>| SessionScope::of(Some(from)).sees(to);
        assert!(sees(&ann, Some(&ann)) && sees(&ann, Some(&shared)));
        assert!(!sees(&ann, Some(&ben)) && !sees(&ann, Some(&elsewhere)) && !sees(&ann, None));
        assert!(sees(&shared, Some(&shared)) && !sees(&shared, Some(&ann)));
        assert!(SessionScope::Local.sees(None) && !SessionScope::Local.sees(Some(&ann)));
        assert!(SessionScope::Everyone.sees(Some(&ann)) && SessionScope::Everyone.sees(None));
        let slack = Address { platform: "slack".into(), ..ann.clone() };
        assert!(!sees(&ann, Some(&slack)), "ids of two platforms may be alike");
    }
}
