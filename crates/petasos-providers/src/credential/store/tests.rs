//! The store on a real disk.

use petasos_contract::Secret;

use super::*;
use crate::credential::login::RefreshToken;

fn login(access: &str) -> Login {
    let (access, refresh) = (Some(Secret::new(access)), Some(RefreshToken::new("rt-0001")));
    Login { access, refresh, ..Login::default() }
}

#[tokio::test]
async fn a_change_is_kept_and_the_one_before_it_too() {
    let home = tempfile::tempdir().unwrap();
    update(home.path(), |file| file.set_login("nous", &login("at-0001"))).await.unwrap();
    update(home.path(), |file| file.set_login("nous", &login("at-0002"))).await.unwrap();
    let now = AuthFile::read(home.path()).unwrap().login("nous").unwrap();
    assert_eq!(now.access, Some(Secret::new("at-0002")));
    let before = fs::read_to_string(home.path().join("auth.json.previous")).unwrap();
    assert!(before.contains("at-0001"));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_store() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let home = parent.path().join("home");
    update(&home, |file| file.set_login("nous", &login("at-0001"))).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o700);
    assert_eq!(mode(&home.join("auth.json")), 0o600);
    assert_eq!(mode(&home.join("auth.lock")), 0o600);
}

#[tokio::test]
async fn a_corrupt_store_is_kept_aside_and_strangers_survive() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("auth.json");
    File::create(&path).unwrap().write_all(b"{ not json").unwrap();
    assert!(AuthFile::read(home.path()).is_err());
    update(home.path(), |file| file.set_active("nous")).await.unwrap();
    assert_eq!(fs::read(home.path().join("auth.json.corrupt")).unwrap(), b"{ not json");

    let strange =
        json!({"providers": {"x": {"access_token": "at-0001", "extra": [1]}}, "custom": {"a": 1}});
    write_private(&path, &strange).unwrap();
    update(home.path(), |file| file.set_active("x")).await.unwrap();
    let kept: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!((&kept["providers"]["x"]["extra"], &kept["custom"]["a"]), (&json!([1]), &json!(1)));
}

#[test]
fn what_the_store_prints_about_itself_holds_no_secret() {
    let file = AuthFile::from_value(json!({"providers": {"nous": {"access_token": "at-secret"}}}));
    assert!(!format!("{file:?}").contains("at-secret"));
}

#[test]
fn a_removed_entry_stays_away() {
    let mut file = AuthFile::from_value(json!({"credential_pool": {"deepseek": [
        {"id": "a1b2c3", "source": "env:DEEPSEEK_API_KEY"}]}}));
    assert!(file.remove_entry("deepseek", "a1b2c3"));
    assert!(!file.remove_entry("deepseek", "a1b2c3"));
    assert_eq!(file.0["suppressed_sources"]["deepseek"], json!(["env:DEEPSEEK_API_KEY"]));
}

#[cfg(unix)]
#[test]
fn a_linked_file_is_replaced_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    write_private(&real, &json!({"a": 1})).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write_private(&link, &json!({"a": 2})).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains('2'));
}
