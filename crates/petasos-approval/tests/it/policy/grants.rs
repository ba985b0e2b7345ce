//! Narrow grants: a prefix, a path, a project, a day; listed, revoked, and never more than they say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_approval::Engine;
use petasos_approval::grants::{self, GrantError, GrantRecord, GrantsFile, ListedGrant, NewGrant};
use petasos_contract::Settings;
use petasos_contract::address::Address;
use petasos_contract::approval::{Scope, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use serde_json::json;

use super::{Place, empty, judge, now, shell, word, write_file};

pub(super) fn revoke(home: &Path, name: &str) -> Result<(), GrantError> {
    now(grants::revoke(home, &GrantsFile::new(home), name))
}

fn list(settings: &Settings) -> Result<Vec<ListedGrant>, GrantError> {
    now(grants::list(settings, &GrantsFile::new(settings.home())))
}

fn narrow(home: &Path, key: &str, project: PathBuf) -> Result<GrantRecord, GrantError> {
    now(grants::narrow(home, &GrantsFile::new(home), key, project))
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_grant_reaches_as_far_as_it_says() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let down = NewGrant { command: words("docker compose down"), ..NewGrant::default() };
    grants::add(&place.home(), NewGrant { project: Some(place.work()), ..down.clone() }).unwrap();
    grants::add(
        &place.home(),
        NewGrant {
            path: Some("~/.npmrc".to_owned()),
            tool: Some("write_file".to_owned()),
            ..NewGrant::default()
        },
    )
    .unwrap();
    assert_eq!(shell(&engine, "docker compose down -v", &cx), Verdict::Allow);
    assert_eq!(word(&shell(&engine, "docker compose down; rm -r x", &cx)), "ask");
    let mut elsewhere = place.cx(&empty());
    elsewhere.workspace = place.user().as_path().into();
    assert_eq!(word(&shell(&engine, "docker compose down -v", &elsewhere)), "ask");
    let write = Effects::one(Effect::Write(place.user().join(".npmrc")));
    assert_eq!(judge(&engine, "write_file", &write, &cx), Verdict::Allow);
    assert_eq!(word(&judge(&engine, "patch", &write, &cx)), "ask");
}

#[test]
fn a_grant_ends_when_its_day_comes() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let key = Some("recursive delete".to_owned());
    grants::add(
        &place.home(),
        NewGrant { key: key.clone(), expires: Some(1), ..NewGrant::default() },
    )
    .unwrap();
    assert_eq!(word(&shell(&engine, "rm -r x", &cx)), "ask");
    let held = grants::add(
        &place.home(),
        NewGrant { key, expires: Some(u64::MAX), ..NewGrant::default() },
    )
    .unwrap();
    assert_eq!(shell(&engine, "rm -r x", &cx), Verdict::Allow);
    assert_eq!(word(&shell(&engine, "rm -r x; git reset --hard", &cx)), "ask");
    revoke(&place.home(), &held.id).unwrap();
    assert_eq!(word(&shell(&engine, "rm -r x", &cx)), "ask");
}

#[test]
fn everything_granted_is_listed() {
    let place = Place::new();
    let made = grants::add(
        &place.home(),
        NewGrant { command: words("git push --force"), ..NewGrant::default() },
    )
    .unwrap();
    let settings = place.settings(&json!({"command_allowlist": ["recursive delete"]}), &[]);
    let listed = list(&settings).unwrap();
    assert!(
        matches!(&listed[0], ListedGrant::Allowlist { entry, .. } if entry == "recursive delete")
    );
    assert!(matches!(&listed[1], ListedGrant::Grant(grant) if **grant == made));
    assert!(revoke(&place.home(), "nothing").is_err());
}

#[test]
fn what_would_grant_everything_or_nothing_is_refused() {
    let place = Place::new();
    let refused = [
        NewGrant::default(),
        NewGrant { key: Some("recursive delete".to_owned()), ..NewGrant::default() },
        NewGrant { command: words("bash"), ..NewGrant::default() },
        NewGrant { command: words("* x"), ..NewGrant::default() },
    ];
    for what in refused {
        assert!(grants::add(&place.home(), what.clone()).is_err(), "{what:?}");
    }
    assert!(
        grants::add(
            std::path::Path::new(""),
            NewGrant { command: words("a b"), ..NewGrant::default() }
        )
        .is_err()
    );
}

#[test]
fn a_damaged_file_grants_nothing_and_is_told() {
    let place = Place::new();
    write_file(&place.home().join("grants.json"), "{");
    assert!(list(&place.settings(&empty(), &[])).is_err());
    assert_eq!(word(&shell(&Engine::default(), "rm -r x", &place.cx(&empty()))), "ask");
    let what = NewGrant { command: words("git push --force"), ..NewGrant::default() };
    assert!(grants::add(&place.home(), what).is_err());
}

#[test]
fn many_writers_lose_no_grant() {
    let place = Place::new();
    let home = place.home();
    std::thread::scope(|scope| {
        for name in ["one", "two", "three", "four"] {
            let home = &home;
            scope.spawn(move || {
                for number in 0..20 {
                    let command = vec!["make".to_owned(), name.to_owned(), number.to_string()];
                    grants::add(home, NewGrant { command, ..NewGrant::default() }).unwrap();
                }
            });
        }
    });
    assert_eq!(grants::grants(&home).unwrap().len(), 80);
}

#[test]
fn a_project_and_a_path_mean_what_is_touched() {
    let place = Place::new();
    let engine = Engine::default();
    let cx = place.cx(&empty());
    let key = || Some("recursive delete".to_owned());
    let project = NewGrant { key: key(), project: Some(place.work()), ..NewGrant::default() };
    let made = grants::add(&place.home(), project).unwrap();
    assert_eq!(shell(&engine, "rm -rf build", &cx), Verdict::Allow);
    for script in ["rm -rf ~/Documents", "cd /srv && rm -rf data", "rm -rf ../x", "rm -rf $X"] {
        assert_eq!(word(&shell(&engine, script, &cx)), "ask", "{script}");
    }
    std::os::unix::fs::symlink(place.user(), place.work().join("out")).unwrap();
    assert_eq!(word(&shell(&engine, "rm -rf out/x", &cx)), "ask");
    revoke(&place.home(), &made.id).unwrap();
    let path = Some(format!("{}/**", place.work().display()));
    grants::add(&place.home(), NewGrant { key: key(), path, ..NewGrant::default() }).unwrap();
    assert_eq!(shell(&engine, "rm -rf build", &cx), Verdict::Allow);
    assert_eq!(word(&shell(&engine, "rm -rf ~/Documents", &cx)), "ask");
}

#[test]
fn a_wide_entry_is_listed_as_such_keeps_working_and_can_be_narrowed() {
    let place = Place::new();
    let engine = Engine::default();
    let config = place.home().join("config.yaml");
    write_file(&config, "command_allowlist:\n  - recursive delete\n  - make deploy\n");
    let wide = json!({"command_allowlist": ["recursive delete", "make deploy"]});
    let listed = list(&place.settings(&wide, &[])).unwrap();
    assert!(matches!(&listed[0], ListedGrant::Allowlist { wide: true, .. }));
    assert!(matches!(&listed[1], ListedGrant::Allowlist { wide: false, .. }));
    assert_eq!(shell(&engine, "rm -r ~/x", &place.cx(&wide)), Verdict::Allow);
    narrow(&place.home(), "recursive delete", place.work()).unwrap();
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "command_allowlist:\n  - make deploy\n");
    assert_eq!(shell(&engine, "rm -r x", &place.cx(&empty())), Verdict::Allow);
    assert_eq!(word(&shell(&engine, "rm -r ~/x", &place.cx(&empty()))), "ask");
    assert!(narrow(&place.home(), "recursive delete", place.work()).is_err());
    assert_eq!(grants::grants(&place.home()).unwrap().len(), 1);
}

/// What somebody agreed to for good in a chat is theirs: neither another person there nor the
/// machine is spared a question by it. What was granted at the machine holds in every chat.
#[test]
fn an_approval_for_good_in_a_chat_holds_in_that_chat_alone() {
    let place = Place::new();
    let engine = Engine::default();
    let at = |chat: &str, user: &str| {
        let address = Address { user: Some(user.into()), ..Address::chat("telegram", chat) };
        place.cx_on(Surface::Gateway, &empty(), &[]).at(Arc::new(address))
    };
    let (ann, ben, elsewhere) = (at("1", "ann"), at("1", "ben"), at("2", "ann"));
    super::settle(&engine, "rm -r build", &super::yes(Scope::Always), &ann);
    let given = grants::grants(&place.home()).unwrap();
    assert_eq!(given[0].owner.as_ref(), Some(&*ann.address), "{given:?}");
    assert_eq!(shell(&engine, "rm -r build", &ann), Verdict::Allow);
    for other in [&ben, &elsewhere, &place.cx(&empty())] {
        assert_eq!(word(&shell(&engine, "rm -r build", other)), "ask", "{:?}", other.address);
    }
    super::settle(&engine, "rm -r dist", &super::yes(Scope::Always), &place.cx(&empty()));
    for anybody in [&ann, &ben, &elsewhere, &place.cx(&empty())] {
        assert_eq!(shell(&engine, "rm -r dist", anybody), Verdict::Allow);
    }
}
