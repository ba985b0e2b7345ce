//! What people do to the vault, seen through the resolver and the status.

use std::path::Path;

use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{Secret, Settings};
use petasos_providers::credential::keep::status;
use petasos_providers::credential::login::Login;
use petasos_providers::credential::pool::Status;
use petasos_providers::credential::store::{AuthFile, update};
use petasos_providers::runtime::PoolRef;
use petasos_providers::{Request, Vault, resolve};
use serde_json::json;

fn settings(home: &Path, config: &serde_json::Value) -> Settings {
    let values = config.as_object().unwrap().clone();
    let home = home.to_owned();
    Settings::new(Parts { user_home: home.join("user"), home, values, ..Parts::default() })
}

#[tokio::test]
async fn a_login_counts_at_once_and_a_logout_forgets_it() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}));
    let vault = Vault::of(&settings);
    let login = Login { access: Some(Secret::new("at-0123456789")), ..Login::default() };
    vault.log_in("nous", &login).await.unwrap();
    let view = vault.view(&settings);
    let runtime = resolve(&Request::default(), &settings, &view).outcome.unwrap();
    assert_eq!(runtime.provider, "nous");
    let lines = status(&settings, &view);
    assert_eq!(
        (lines.len(), lines[0].state, lines[0].secret.as_deref()),
        (1, "ready", Some("••••6789"))
    );
    assert!(vault.log_out("nous").await.unwrap());
    assert!(!vault.log_out("nous").await.unwrap());
    assert!(resolve(&Request::default(), &settings, &vault.view(&settings)).outcome.is_err());
}

#[tokio::test]
async fn a_second_login_does_not_erase_the_first_before_it_works() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}));
    let vault = Vault::of(&settings);
    for access in ["at-0000000001", "at-0000000002"] {
        let login = Login { access: Some(Secret::new(access)), ..Login::default() };
        vault.log_in("nous", &login).await.unwrap();
    }
    let kept = AuthFile::read(home.path()).unwrap().login("nous").unwrap();
    assert_eq!((kept.access, kept.generation), (Some(Secret::new("at-0000000002")), 1));
}

#[tokio::test]
async fn keys_join_a_pool_are_used_in_turn_and_wake_up_again() {
    let home = tempfile::tempdir().unwrap();
    let settings =
        settings(home.path(), &json!({"credential_pool_strategies": {"deepseek": "round_robin"}}));
    let vault = Vault::of(&settings);
    let mut ids = Vec::new();
    for key in ["ds-0000000001", "ds-0000000002"] {
        ids.push(vault.add_key("deepseek", "manual", Secret::new(key)).await.unwrap().id);
    }
    let mut used = Vec::new();
    for _ in 0..4 {
        let runtime =
            resolve(&Request::of("deepseek"), &settings, &vault.view(&settings)).outcome.unwrap();
        let place: PoolRef = runtime.pool.unwrap();
        vault.count_use(&place, &settings).await.unwrap();
        used.push(ids.iter().position(|id| *id == place.entry).unwrap());
    }
    assert_eq!(used, [0, 1, 0, 1]);
    update(home.path(), |file| {
        for mut entry in file.pool("deepseek") {
            entry.status = Status::Exhausted;
            entry.reset_at_ms = Some(u64::MAX);
            file.set_entry("deepseek", &entry);
        }
    })
    .await
    .unwrap();
    let asleep =
        resolve(&Request::of("deepseek"), &settings, &vault.view(&settings)).outcome.unwrap_err();
    assert_eq!(asleep.code, "missing_api_key");
    assert_eq!(status(&settings, &vault.view(&settings))[0].state, "resting");
    assert_eq!(vault.reset("deepseek").await.unwrap(), 2);
    assert!(resolve(&Request::of("deepseek"), &settings, &vault.view(&settings)).outcome.is_ok());
}

#[tokio::test]
async fn a_profile_uses_the_logins_of_its_root_and_renews_them_there() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("profiles/work");
    std::fs::create_dir_all(&home).unwrap();
    let login = Login { access: Some(Secret::new("at-0123456789")), ..Login::default() };
    update(root.path(), |file| file.set_login("nous", &login)).await.unwrap();
    let settings = settings(&home, &json!({}));
    let vault = Vault::of(&settings);
    assert!(resolve(&Request::of("nous"), &settings, &vault.view(&settings)).outcome.is_ok());
    assert_eq!(vault.holder_of("nous"), root.path());
    vault.log_in("nous", &login).await.unwrap();
    assert_eq!(vault.holder_of("nous"), home);
}

#[tokio::test]
async fn one_key_of_several_is_forgotten_and_the_others_stay() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}));
    let vault = Vault::of(&settings);
    for key in ["gsk-0000000001", "gsk-0000000002"] {
        vault.add_key("groq", "manual", Secret::new(key)).await.unwrap();
    }
    let lines = status(&settings, &vault.view(&settings));
    let first = lines[0].id.clone().unwrap();
    assert!(vault.remove_key("groq", &first).await.unwrap());
    assert!(!vault.remove_key("groq", &first).await.unwrap());
    let runtime = resolve(&Request::of("groq"), &settings, &vault.view(&settings)).outcome.unwrap();
    assert_eq!(runtime.credential.unwrap().secret.expose(), "gsk-0000000002");
}

#[tokio::test]
async fn a_key_put_into_the_vault_comes_before_one_that_lies_in_the_environment() {
    let home = tempfile::tempdir().unwrap();
    let name = "ANTHROPIC_API_KEY".to_owned();
    let source = Source::Environment { variable: name.clone() };
    let value = Secret::new("sk-ant-api03-from-the-shell");
    let settings = Settings::new(Parts {
        user_home: home.path().join("user"),
        home: home.path().to_owned(),
        variables: [(name, Variable { value, source })].into(),
        ..Parts::default()
    });
    let vault = Vault::of(&settings);
    let key = Secret::new("sk-ant-api03-by-hand-0001");
    vault.add_key("anthropic", "manual", key.clone()).await.unwrap();
    let view = vault.view(&settings);
    let runtime = resolve(&Request::of("anthropic"), &settings, &view).outcome.unwrap();
    assert_eq!(runtime.credential.unwrap().secret, key);
}

#[test]
fn a_key_beside_a_built_in_name_is_used_and_an_endpoint_there_is_not() {
    let config = json!({"providers": {"deepseek": {"api_key": "own-0123456789"}}});
    let plain = settings(Path::new("/nowhere"), &config);
    let view = petasos_providers::VaultView::empty(1);
    let runtime = resolve(&Request::of("deepseek"), &plain, &view).outcome.unwrap();
    assert_eq!(runtime.source.to_string(), "config");
    let config = json!({"providers": {"deepseek": {"api_key": "own-0123456789", "url": "https://box.test/v1"}}});
    let shadowing = settings(Path::new("/nowhere"), &config);
    let outcome = resolve(&Request::of("deepseek"), &shadowing, &view).outcome;
    assert_eq!(outcome.unwrap_err().code, "missing_api_key");
    let named = resolve(&Request::of("custom:deepseek"), &shadowing, &view).outcome.unwrap();
    assert_eq!(named.base_url.as_str(), "https://box.test/v1");
}

#[tokio::test]
async fn a_further_login_joins_the_first_and_both_are_asked() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path(), &json!({}));
    let vault = Vault::of(&settings);
    let login = |name: &str| Login {
        access: Some(Secret::new(format!("access-of-{name}"))),
        refresh: Some(Secret::new(format!("refresh-of-{name}")).into()),
        ..Login::default()
    };
    vault.log_in("nous", &login("one")).await.unwrap();
    vault.add_login("nous", &login("two")).await.unwrap();
    vault.add_login("nous", &login("three")).await.unwrap();
    let store = vault.view(&settings).store;
    let held: Vec<String> = store
        .pool("nous")
        .iter()
        .map(|entry| entry.secret.as_ref().unwrap().expose().to_owned())
        .collect();
    assert_eq!(held, ["access-of-one", "access-of-two", "access-of-three"]);
    assert!(store.login("nous").is_none_or(|login| login.refresh.is_none()), "one place each");
    let id = store.pool("nous")[1].id.clone();
    assert!(vault.remove_key("nous", &id).await.unwrap());
    assert_eq!(vault.view(&settings).store.pool("nous").len(), 2);
}
