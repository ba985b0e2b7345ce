//! The login keychain of macOS.

use petasos_contract::{Secret, Settings};
use security_framework::passwords::{
    delete_generic_password, get_generic_password, set_generic_password,
};

use super::{Absent, Keyring};

const SERVICE: &str = "petasos";
/// What the system answers for an item that is not there (`errSecItemNotFound`).
const NOT_FOUND: i32 = -25300;

/// The login keychain.
#[derive(Debug)]
pub(super) struct Keychain;

impl Keychain {
    /// The keychain of whoever runs the program; nothing of the snapshot moves it.
    pub(super) fn of(_: &Settings) -> Self {
        Self
    }
}

impl Keyring for Keychain {
    fn get(&self, account: &str) -> Result<Option<Secret>, Absent> {
        match get_generic_password(SERVICE, account) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(Secret::new(text))),
                Err(_) => Err(Absent::because("it holds something that is no key")),
            },
            Err(error) if error.code() == NOT_FOUND => Ok(None),
            Err(error) => Err(Absent::because(error)),
        }
    }

    fn set(&self, account: &str, secret: &Secret) -> Result<(), Absent> {
        set_generic_password(SERVICE, account, secret.expose().as_bytes()).map_err(Absent::because)
    }

    fn remove(&self, account: &str) -> Result<(), Absent> {
        match delete_generic_password(SERVICE, account) {
            Ok(()) => Ok(()),
            Err(error) if error.code() == NOT_FOUND => Ok(()),
            Err(error) => Err(Absent::because(error)),
        }
    }
}
