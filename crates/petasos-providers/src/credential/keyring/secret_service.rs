//! The secret service of a desktop session (GNOME Keyring, KWallet, KeePassXC) over its bus.
//!
//! Four calls of one published interface, spoken directly: the libraries for it bring more than
//! fifty crates. Secrets cross the user's own bus as they are, which anyone who could listen there
//! could ask the service for anyway. A locked keyring is named and never asks a person by itself.

use petasos_contract::Secret;

use super::bus::Bus;
use super::wire::{Call, Writer};
use super::{Absent, Keyring};

const SERVICE: &str = "org.freedesktop.Secret.Service";
const COLLECTION: &str = "org.freedesktop.Secret.Collection";
const ITEM: &str = "org.freedesktop.Secret.Item";
const ROOT: &str = "/org/freedesktop/secrets";
/// More copies of one account than anybody has collections.
const COLLECTIONS_MAX: usize = 8;
/// That an older secret of the account gives way.
const REPLACE: u32 = 1;
/// What stands for "no object".
const NONE: &str = "/";

/// The secret service behind a bus.
#[derive(Debug)]
pub(super) struct SecretService {
    /// Where the bus is; `None` outside of a session.
    pub(super) bus: Option<String>,
}

impl Keyring for SecretService {
    fn get(&self, account: &str) -> Result<Option<Secret>, Absent> {
        let mut talk = self.open()?;
        let Some(item) = talk.find(account)? else { return Ok(None) };
        talk.read(&item).map(Some)
    }

    fn set(&self, account: &str, secret: &Secret) -> Result<(), Absent> {
        self.open()?.keep(account, secret)
    }

    fn remove(&self, account: &str) -> Result<(), Absent> {
        let mut talk = self.open()?;
        // Another program may have kept the same account in a second collection.
        for _ in 0..COLLECTIONS_MAX {
            let Some(item) = talk.find(account)? else { break };
            let answer = talk.call(&item, ITEM, "Delete", ("", Writer::default()))?;
            if answer.values().text()? != NONE {
                return Err(locked());
            }
        }
        Ok(())
    }
}

impl SecretService {
    fn open(&self) -> Result<Talk, Absent> {
        let address = self.bus.as_deref().ok_or_else(|| {
            Absent::because("there is no desktop session (`DBUS_SESSION_BUS_ADDRESS` is not set)")
        })?;
        let mut talk = Talk { bus: Bus::open(address)?, session: String::new() };
        let mut plain = Writer::default();
        plain.text("plain");
        plain.signature("s");
        plain.text("");
        let opened = talk.call(ROOT, SERVICE, "OpenSession", ("sv", plain))?;
        let mut values = opened.values();
        values.signature()?;
        values.text()?;
        talk.session = values.text()?;
        Ok(talk)
    }
}

/// An open session with the service.
struct Talk {
    bus: Bus,
    session: String,
}

impl Talk {
    fn call(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        (signature, body): (&str, Writer),
    ) -> Result<super::wire::Answer, Absent> {
        let to = "org.freedesktop.secrets";
        self.bus.call(&Call { to, path, interface, member, signature }, body)
    }

    /// The item of an account, unlocked.
    fn find(&mut self, account: &str) -> Result<Option<String>, Absent> {
        let mut wanted = Writer::default();
        attributes(&mut wanted, account);
        let found = self.call(ROOT, SERVICE, "SearchItems", ("a{ss}", wanted))?;
        let mut values = found.values();
        let (open, closed) = (values.paths()?, values.paths()?);
        match (open.into_iter().next(), closed.into_iter().next()) {
            (Some(item), _) => Ok(Some(item)),
            (None, Some(item)) => self.unlock(&item).map(|()| Some(item)),
            (None, None) => Ok(None),
        }
    }

    /// Unlocks what needs nobody's word.
    fn unlock(&mut self, path: &str) -> Result<(), Absent> {
        let mut wanted = Writer::default();
        wanted.array(4, |paths| paths.text(path));
        let answer = self.call(ROOT, SERVICE, "Unlock", ("ao", wanted))?;
        let mut values = answer.values();
        let opened = values.paths()?;
        if opened.iter().any(|opened| opened == path) { Ok(()) } else { Err(locked()) }
    }

    fn read(&mut self, item: &str) -> Result<Secret, Absent> {
        let mut session = Writer::default();
        session.text(&self.session);
        let answer = self.call(item, ITEM, "GetSecret", ("o", session))?;
        let mut values = answer.values();
        values.align(8);
        values.text()?;
        values.bytes()?;
        let secret = String::from_utf8(values.bytes()?);
        secret.map(Secret::new).map_err(|_| Absent::because("it holds something that is no key"))
    }

    fn keep(&mut self, account: &str, secret: &Secret) -> Result<(), Absent> {
        let mut name = Writer::default();
        name.text("default");
        let alias = self.call(ROOT, SERVICE, "ReadAlias", ("s", name))?;
        let collection = alias.values().text()?;
        if collection == NONE {
            return Err(Absent::because("it has no default collection"));
        }
        self.unlock(&collection)?;
        let mut item = Writer::default();
        item.array(8, |properties| {
            properties.open();
            properties.text("org.freedesktop.Secret.Item.Label");
            properties.signature("s");
            properties.text(&format!("petasos: {account}"));
            properties.open();
            properties.text("org.freedesktop.Secret.Item.Attributes");
            properties.signature("a{ss}");
            attributes(properties, account);
        });
        item.open();
        item.text(&self.session);
        item.bytes(&[]);
        item.bytes(secret.expose().as_bytes());
        item.text("text/plain");
        item.number(REPLACE);
        let kept = self.call(&collection, COLLECTION, "CreateItem", ("a{sv}(oayays)b", item))?;
        if kept.values().text()? == NONE { Err(locked()) } else { Ok(()) }
    }
}

/// What an account is found by; the same names that other programs use.
fn attributes(out: &mut Writer, account: &str) {
    out.array(8, |pairs| {
        for (name, value) in [("service", "petasos"), ("username", account)] {
            pairs.open();
            pairs.text(name);
            pairs.text(value);
        }
    });
}

fn locked() -> Absent {
    Absent::because("it is locked")
}
