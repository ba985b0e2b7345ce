//! Strategies and failures, as tables.

use super::*;

fn entry(id: &str, priority: i64, count: u64) -> Entry {
    let value = json!({"id": id, "priority": priority, "request_count": count,
        "access_token": format!("key-{id}"), "source": "manual"});
    Entry::from_value(&value).unwrap()
}

#[test]
fn each_strategy_picks_its_entry() {
    let mut entries = vec![entry("a", 2, 1), entry("b", 1, 9), entry("c", 3, 0)];
    let pick = |entries: &[Entry], strategy, draw| {
        select(entries, strategy, 1_000, draw).map(|entry| entry.id.clone()).unwrap_or_default()
    };
    assert_eq!(pick(&entries, Strategy::FillFirst, 0), "b");
    assert_eq!(pick(&entries, Strategy::LeastUsed, 0), "c");
    assert_eq!(pick(&entries, Strategy::RoundRobin, 0), "c");
    assert_eq!(pick(&entries, Strategy::Random, 4), "a");
    entries[1].status = Status::Exhausted;
    entries[1].reset_at_ms = Some(2_000);
    assert_eq!(pick(&entries, Strategy::FillFirst, 0), "a");
    entries[1].reset_at_ms = Some(900);
    assert_eq!(pick(&entries, Strategy::FillFirst, 0), "b", "it has rested");
    for entry in &mut entries {
        entry.status = Status::Dead;
    }
    assert_eq!(pick(&entries, Strategy::Random, 3), "");
}

#[test]
fn round_robin_gives_every_entry_its_turn() {
    let mut entries = vec![entry("a", 0, 0), entry("b", 1, 0), entry("c", 2, 0)];
    let mut order = String::new();
    for _ in 0..6 {
        let id = select(&entries, Strategy::RoundRobin, 0, 0).unwrap().id.clone();
        entries.iter_mut().find(|entry| entry.id == id).unwrap().request_count += 1;
        order.push_str(&id);
    }
    assert_eq!(order, "abcabc");
}

#[test]
fn a_failure_marks_the_entry_and_advises() {
    let now = 1_000_000;
    let cases = [
        (Trouble::RateLimited, Advice::SameKey, Status::Ok, None),
        (Trouble::QuotaUsed, Advice::Rotate, Status::Exhausted, Some(now + HOUR_MS)),
        (Trouble::Unpaid, Advice::Rotate, Status::Exhausted, Some(now + 24 * HOUR_MS)),
        (Trouble::Rejected, Advice::Rotate, Status::Exhausted, Some(now + 5 * MINUTE_MS)),
        (Trouble::Revoked, Advice::Rotate, Status::Dead, None),
        (Trouble::UpstreamBusy, Advice::Leave, Status::Ok, None),
        (Trouble::Forbidden, Advice::Leave, Status::Ok, None),
    ];
    for (trouble, advice, status, reset) in cases {
        let mut one = entry("a", 0, 0);
        assert_eq!(fail(&mut one, trouble, now, None), advice, "{trouble:?}");
        assert_eq!((one.status, one.reset_at_ms), (status, reset), "{trouble:?}");
    }
    let refresh = Some(RefreshToken::new("rt-1"));
    let mut login = Entry { oauth: true, refresh, ..entry("a", 0, 0) };
    assert_eq!(fail(&mut login, Trouble::Rejected, now, None), Advice::Rotate);
    assert!(!login.is_rested(now), "a refused login is not taken again at once");
    let mut told = entry("a", 0, 0);
    fail(&mut told, Trouble::QuotaUsed, now, Some(now + 5));
    assert_eq!(told.reset_at_ms, Some(now + 5));
}

#[test]
fn a_borrowed_entry_keeps_no_secret_at_rest() {
    let mut object = Map::new();
    Entry { source: "env:DEEPSEEK_API_KEY".to_owned(), ..entry("a", 0, 0) }.write_into(&mut object);
    assert!(!Value::Object(object.clone()).to_string().contains("key-a"));
    assert!(object["secret_fingerprint"].as_str().unwrap().starts_with("sha256:"));
}
