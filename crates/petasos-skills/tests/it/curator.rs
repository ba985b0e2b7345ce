//! E125: the upkeep moves only what it may, and what it moved comes back.

use std::time::{Duration, SystemTime};

use petasos_skills::curator::{self, Move};
use petasos_skills::{Usage, UsageRecord};
use serde_json::json;

use crate::world::World;

const DAY: Duration = Duration::from_hours(24);
const LONG_AGO: &str = "2020-01-02T03:04:05Z";

fn used(world: &World, name: &str, change: impl FnOnce(&mut UsageRecord)) {
    Usage::edit(&world.settings(), name, |record| {
        record.created_at = Some(LONG_AGO.to_owned());
        change(record);
    })
    .unwrap();
}

fn by_model(record: &mut UsageRecord) {
    record.created_by = Some("agent".to_owned());
}

#[test]
fn e125_only_what_a_model_made_and_nobody_uses_is_put_away_and_it_comes_back() {
    let world = World::with(json!({ "skills": { "starter": true } }));
    for name in ["old-own", "old-pinned", "old-hub", "old-model", "new-model", "work/deep-model"] {
        world.skill(name, "It helps.", "Do it.");
    }
    used(&world, "old-own", |_| {});
    used(&world, "old-pinned", |record| {
        by_model(record);
        record.pinned = true;
    });
    used(&world, "old-hub", by_model);
    used(&world, "old-model", by_model);
    used(&world, "deep-model", by_model);
    used(&world, "new-model", |record| {
        by_model(record);
        record.last_used_at = Some("2999-01-01T00:00:00Z".to_owned());
    });
    used(&world, "plan", |_| {});
    let lock = json!({ "version": 1, "installed": { "old-hub": { "install_path": "old-hub" } } });
    world.home.write(".petasos/skills/.hub/lock.json", lock.to_string());
    let cx = world.cx();
    let (now, home) = (SystemTime::now(), world.home.agent());
    let planned = curator::plan(&world.library, &cx, now).unwrap();
    let becomes = |name: &str| planned.iter().find(|step| step.name == name).map(|it| it.becomes);
    assert_eq!(becomes("old-model"), Some(Move::Archive));
    assert_eq!(becomes("deep-model"), Some(Move::Archive));
    assert_eq!(becomes("old-own"), Some(Move::Stale));
    assert_eq!(planned.len(), 3, "{planned:?}");
    assert!(home.join("skills/old-model").exists(), "a plan changes nothing");
    let report = curator::run(&world.library, &cx, now).unwrap();
    assert!(!home.join("skills/old-model").exists() && home.join("skills/old-own").exists());
    assert!(!home.join("skills/work/deep-model").exists());
    let usage = Usage::of(&cx.settings);
    assert_eq!(usage.get("old-model").unwrap().state.as_deref(), Some("archived"));
    assert_eq!(curator::backups(&cx.settings), [report.backup.unwrap()]);
    let mut back = curator::rollback(&cx.settings, None).unwrap();
    back.sort();
    assert_eq!(back, ["deep-model", "old-model", "old-own"]);
    assert!(home.join("skills/old-model/SKILL.md").exists());
    assert!(home.join("skills/work/deep-model/SKILL.md").exists());
    assert_eq!(Usage::of(&cx.settings).get("old-model").unwrap().state, None);
}

#[test]
fn e125_ours_are_switched_off_only_where_that_is_wanted() {
    let of = |prune: bool| {
        let values =
            json!({ "skills": { "starter": true }, "curator": { "prune_builtins": prune } });
        let world = World::with(values);
        used(&world, "plan", |_| {});
        let steps = curator::plan(&world.library, &world.cx(), SystemTime::now()).unwrap();
        steps.iter().map(|step| (step.name.clone(), step.becomes)).collect::<Vec<_>>()
    };
    assert_eq!(of(false), []);
    assert_eq!(of(true), [("plan".to_owned(), Move::Disable)]);
}

#[test]
fn e125_it_is_due_after_its_interval_when_nothing_else_goes_on() {
    let world = World::new();
    let (settings, now) = (world.settings(), SystemTime::now());
    assert!(curator::is_due(&settings, DAY, now));
    assert!(!curator::is_due(&settings, Duration::from_mins(5), now), "somebody works");
    curator::run(&world.library, &world.cx(), now).unwrap();
    assert!(!curator::is_due(&settings, DAY, now + DAY));
    assert!(curator::is_due(&settings, DAY, now + DAY * 8));
    curator::pause(&settings, true).unwrap();
    assert!(!curator::is_due(&settings, DAY, now + DAY * 8));
    let off = World::with(json!({ "curator": { "enabled": false } }));
    assert!(!curator::is_due(&off.settings(), DAY, now));
    assert_eq!(curator::status(&off.settings()).last_run_at, None);
}

#[test]
fn old_copies_go_when_there_are_more_than_are_kept() {
    let world = World::with(json!({ "curator": { "backup": { "keep": 2 } } }));
    for round in 0..4 {
        let name = format!("made-{round}");
        world.skill(&name, "It helps.", "Do it.");
        used(&world, &name, by_model);
        curator::run(&world.library, &world.cx(), SystemTime::now()).unwrap();
    }
    assert_eq!(curator::backups(&world.settings()).len(), 2);
}
