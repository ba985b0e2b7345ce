//! What a skill lends to commands while it is in use: the variables and files that it declares and
//! that a person let this very content of it have.
//!
//! It is asked before each command. A skill that was changed, put away or removed meanwhile, or
//! whose consent is gone, lends nothing any more, whatever a conversation still remembers of it.

use std::sync::Arc;

use petasos_contract::Settings;
use petasos_contract::terminal::{Lender, Lent};

use crate::consent::Consent;
use crate::digest::Digest;
use crate::discover::Skill;
use crate::readiness::may_be_offered;
use crate::view;

/// One skill in one conversation.
pub(crate) struct Lending {
    settings: Arc<Settings>,
    skill: Arc<Skill>,
    digest: Digest,
}

impl Lending {
    /// For a skill that declares something; nothing for the others, and where the folder cannot be
    /// looked at as a whole: such a skill has no digest, and so no consent.
    pub(crate) fn of(skill: &Arc<Skill>, settings: &Arc<Settings>) -> Option<Self> {
        let front = &skill.checked.front;
        if front.variables.is_empty() && front.credential_files.is_empty() {
            return None;
        }
        let digest = view::digest(skill).ok()?;
        Some(Self { settings: Arc::clone(settings), skill: Arc::clone(skill), digest })
    }
}

impl Lender for Lending {
    fn lent(&self) -> Lent {
        if view::digest(&self.skill).ok().as_ref() != Some(&self.digest) {
            return Lent::default();
        }
        granted(&self.skill, &self.digest, &self.settings)
    }
}

/// What a person let this content of a skill have, of what it declares.
pub(crate) fn granted(skill: &Skill, digest: &Digest, settings: &Settings) -> Lent {
    let front = &skill.checked.front;
    let consent = Consent::of(settings);
    let (variables, files) = (consent.variables(digest), consent.files(digest));
    let offered = |file: &&String| files.contains(*file) && may_be_offered(file);
    Lent {
        variables: front.variable_names().into_iter().filter(|it| variables.contains(it)).collect(),
        files: front.credential_files.iter().filter(offered).cloned().collect(),
    }
}
