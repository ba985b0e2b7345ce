//! Keys in the keyring of the operating system: what is on disk, and what happens without one.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use petasos_contract::settings::Parts;
use petasos_contract::{Secret, Settings};
use petasos_providers::credential::keep::status;
use petasos_providers::credential::keyring::{Absent, Keyring, within};
use petasos_providers::{Request, Vault, resolve};
use serde_json::json;

#[derive(Debug, Default)]
struct Drawer {
    kept: Mutex<HashMap<String, String>>,
    locked: Mutex<bool>,
}

impl Drawer {
    fn open(&self) -> Result<std::sync::MutexGuard<'_, HashMap<String, String>>, Absent> {
        if *self.locked.lock().unwrap() {
            return Err(Absent::because("it is locked"));
        }
        Ok(self.kept.lock().unwrap())
    }
}

impl Keyring for Drawer {
    fn get(&self, account: &str) -> Result<Option<Secret>, Absent> {
        Ok(self.open()?.get(account).map(Secret::new))
    }

    fn set(&self, account: &str, secret: &Secret) -> Result<(), Absent> {
        self.open()?.insert(account.to_owned(), secret.expose().to_owned());
        Ok(())
    }

    fn remove(&self, account: &str) -> Result<(), Absent> {
        self.open()?.remove(account);
        Ok(())
    }
}

fn settings(home: &Path, config: &serde_json::Value) -> Settings {
    let values = config.as_object().unwrap().clone();
    let home = home.to_owned();
    Settings::new(Parts { user_home: home.join("user"), home, values, ..Parts::default() })
}

#[tokio::test]
async fn a_key_in_the_keyring_is_used_and_no_file_holds_it() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}));
    let drawer = Arc::new(Drawer::default());
    let vault = Vault::of(&settings).with_keyring(drawer.clone());
    vault.add_key("deepseek", "manual", Secret::new("ds-0123456789")).await.unwrap();
    let file = std::fs::read_to_string(home.path().join("auth.json")).unwrap();
    assert!(!file.contains("ds-0123456789") && file.contains("\"keyring\""), "{file}");

    let view = vault.view_soon(&settings).await;
    let runtime = resolve(&Request::of("deepseek"), &settings, &view).outcome.unwrap();
    assert_eq!(runtime.credential.unwrap().secret, Secret::new("ds-0123456789"));
    assert_eq!(runtime.source.to_string(), "credential_pool:keyring");
    assert!(view.problems.is_empty(), "{:?}", view.problems);

    *drawer.locked.lock().unwrap() = true;
    let locked = vault.view(&settings);
    let error = resolve(&Request::of("deepseek"), &settings, &locked).outcome.unwrap_err();
    assert_eq!(error.code, "missing_api_key");
    assert!(locked.problems[0].contains("it is locked"), "{:?}", locked.problems);
    assert_eq!(status(&settings, &locked)[0].state, "out_of_reach");

    *drawer.locked.lock().unwrap() = false;
    assert!(vault.log_out("deepseek").await.unwrap());
    assert!(drawer.kept.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_a_keyring_nothing_weaker_is_used_in_silence() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}));
    let drawer = Arc::new(Drawer::default());
    let vault = Vault::of(&settings).with_keyring(drawer.clone());
    *drawer.locked.lock().unwrap() = true;
    let error =
        vault.add_key("deepseek", "manual", Secret::new("ds-0123456789")).await.unwrap_err();
    assert!(error.to_string().contains("security.keyring"), "{error}");
    assert!(!home.path().join("auth.json").exists());

    *drawer.locked.lock().unwrap() = false;
    vault.add_key("deepseek", "manual", Secret::new("ds-0123456789")).await.unwrap();
    let off = Vault::of(&settings).view(&settings);
    assert!(off.problems[0].contains("switched off"), "{:?}", off.problems);
}

#[test]
fn who_put_nothing_there_never_asks_the_keyring() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({"security": {"keyring": true}}));
    let view = Vault::of(&settings).view(&settings);
    assert!(view.problems.is_empty(), "{:?}", view.problems);
}

#[test]
fn a_keyring_that_hangs_is_left_behind_after_two_seconds() {
    let started = Instant::now();
    let (never, answer) = std::sync::mpsc::channel::<()>();
    let error = within(move || answer.recv().map_err(Absent::because)).unwrap_err();
    assert!(error.why.contains("did not answer"), "{error}");
    let waited = started.elapsed();
    assert!(waited >= Duration::from_secs(2) && waited < Duration::from_secs(10), "{waited:?}");
    drop(never);
}

#[cfg(feature = "keyring")]
#[test]
fn the_keyring_of_this_machine_keeps_a_key_or_says_that_it_is_absent() {
    use petasos_providers::credential::keyring::of_system;
    let account = format!("test/{} in nowhere", std::process::id());
    let started = Instant::now();
    let (place, name) = (of_system(), account.clone());
    let kept = within(move || place.set(&name, &Secret::new("ds-0123456789")));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    match kept {
        Err(absent) => {
            println!("absent after {:?}: {absent}", started.elapsed());
            assert!(!absent.why.is_empty());
        }
        Ok(()) => {
            println!("kept after {:?}", started.elapsed());
            assert_eq!(of_system().get(&account), Ok(Some(Secret::new("ds-0123456789"))));
            assert_eq!(of_system().remove(&account), Ok(()));
            assert_eq!(of_system().get(&account), Ok(None));
            assert_eq!(of_system().remove(&account), Ok(()), "gone is gone");
        }
    }
}
