//! Keys in the keyring of the operating system: what is on disk, and what happens without one.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{Secret, Settings};
use petasos_providers::credential::keep::{Place, status};
use petasos_providers::credential::keyring::{self, Absent, Keyring, within};
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
    let key = || Secret::new("ds-0123456789");
    let drawer = Arc::new(Drawer::default());
    let of = |word: &str| {
        let settings = settings(home.path(), &json!({"security": {"keyring": word}}));
        (Vault::of(&settings).with_keyring(drawer.clone()), settings)
    };
    *drawer.locked.lock().unwrap() = true;
    let error = of("required").0.add_key("deepseek", "manual", key()).await.unwrap_err();
    assert!(error.to_string().contains("security.keyring"), "{error}");
    assert!(!home.path().join("auth.json").exists());
    let kept = of("auto").0.add_key("zai", "manual", key()).await.unwrap();
    assert_eq!(kept.place, Place::File { because: Some(Absent::because("it is locked")) });

    *drawer.locked.lock().unwrap() = false;
    let kept = of("auto").0.add_key("deepseek", "manual", key()).await.unwrap();
    assert_eq!(kept.place, Place::Keyring);
    let (off, settings) = of("off");
    let view = off.view(&settings);
    assert!(view.problems[0].contains("switched off"), "{:?}", view.problems);
    let kept = off.add_key("minimax", "manual", key()).await.unwrap();
    assert_eq!(kept.place, Place::File { because: None });
    assert_eq!(drawer.kept.lock().unwrap().len(), 1);
}

/// What a session without a desktop says at once, whatever the setting.
#[tokio::test]
async fn a_machine_without_a_session_keeps_keys_in_its_file_and_says_why() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}));
    let vault = Vault::of(&settings);
    let kept = vault.add_key("deepseek", "manual", Secret::new("ds-0123456789")).await.unwrap();
    let Place::File { because: Some(absent) } = kept.place else { panic!("{kept:?}") };
    assert!(absent.why.contains("DBUS_SESSION_BUS_ADDRESS"), "{absent}");
    assert!(vault.view(&settings).problems.is_empty());
}

#[test]
fn who_put_nothing_there_never_asks_the_keyring() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({"security": {"keyring": "required"}}));
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

/// A bus and GNOME's keyring on it, both of their own; ended with the scene.
struct Session {
    address: String,
    children: Vec<Child>,
    /// Outlives the service, which keeps its files there.
    home: tempfile::TempDir,
}

impl Session {
    /// `None` when the programs are not installed.
    #[expect(clippy::disallowed_methods, reason = "a test starts the real service")]
    fn start(password: &str) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let quiet = |program: &str| {
            let mut command = Command::new(program);
            command.env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
            command.env_remove("DISPLAY").stdin(Stdio::piped()).stdout(Stdio::piped());
            command.stderr(Stdio::null());
            command
        };
        let bus = quiet("dbus-daemon").args(["--session", "--nofork", "--print-address"]).spawn();
        let mut bus = bus.ok()?;
        let mut address = String::new();
        let mut told = BufReader::new(bus.stdout.take().unwrap());
        told.read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let mut session = Self { address, children: vec![bus], home };
        let mut daemon = Command::new("gnome-keyring-daemon");
        daemon.args(["--foreground", "--unlock", "--components=secrets"]);
        daemon.env("HOME", session.home.path()).env("XDG_RUNTIME_DIR", session.home.path());
        daemon.env("DBUS_SESSION_BUS_ADDRESS", &session.address).env_remove("DISPLAY");
        daemon.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut daemon = daemon.spawn().ok()?;
        daemon.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
        // It prints its control folder once it listens.
        let mut told = BufReader::new(daemon.stdout.take().unwrap());
        told.read_line(&mut String::new()).unwrap();
        session.children.push(daemon);
        Some(session)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for child in &mut self.children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[tokio::test]
async fn the_keyring_of_a_real_session_keeps_a_key_that_no_file_holds() {
    let test = "the_keyring_of_a_real_session_keeps_a_key_that_no_file_holds";
    let Some(session) = Session::start("open sesame") else {
        petasos_testkit::skip(test, "gnome-keyring-daemon", "it cannot be started");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let address = Variable { value: Secret::new(&*session.address), source: Source::Default };
    let settings = Settings::new(Parts {
        home: home.path().to_owned(),
        user_home: home.path().join("user"),
        variables: BTreeMap::from([("DBUS_SESSION_BUS_ADDRESS".to_owned(), address)]),
        ..Parts::default()
    });
    let vault = Vault::of(&settings);
    let kept = vault.add_key("deepseek", "manual", Secret::new("ds-0123456789")).await.unwrap();
    assert_eq!(kept.place, Place::Keyring);
    let file = std::fs::read_to_string(home.path().join("auth.json")).unwrap();
    assert!(!file.contains("ds-0123456789"), "{file}");
    let view = vault.view_soon(&settings).await;
    assert!(view.problems.is_empty(), "{:?}", view.problems);
    let runtime = resolve(&Request::of("deepseek"), &settings, &view).outcome.unwrap();
    assert_eq!(runtime.credential.unwrap().secret, Secret::new("ds-0123456789"));
    assert!(vault.log_out("deepseek").await.unwrap());
    let gone = keyring::of_system(&settings);
    let account = keyring::account(home.path(), "deepseek", &kept.id);
    assert_eq!(gone.get(&account), Ok(None));
    assert_eq!(gone.remove(&account), Ok(()), "gone is gone");
}
