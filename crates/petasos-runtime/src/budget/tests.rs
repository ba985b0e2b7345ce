//! Limits, names and previews.

use petasos_contract::CallContext;
use petasos_contract::context::Surface;
use petasos_contract::tool::Limit;
use serde_json::json;

use super::{Budget, exceeds, preview, safe_name};
use crate::probe::{echo, entry, settings};

#[test]
fn limits_follow_the_context_window_within_bounds() {
    let table = [
        (None, 100_000, 200_000),
        (Some(1_000_000), 100_000, 200_000),
        (Some(100_000), 60_000, 120_000),
        (Some(8_000), 8_000, 16_000),
        (Some(0), 8_000, 16_000),
        (Some(u32::MAX), 100_000, 200_000),
    ];
    for (tokens, result, turn) in table {
        let budget = Budget::for_window(tokens);
        assert_eq!((budget.result_chars, budget.turn_chars), (result, turn), "{tokens:?}");
        assert_eq!(budget.preview_chars, 1_500);
    }
    let configured = settings(&json!({ "model": { "context_length": 100_000 } }));
    let mut cx = CallContext::new(configured, Surface::Cli, "s".into());
    assert_eq!(Budget::of(&cx).result_chars, 60_000);
    cx.window = Some(50_000);
    assert_eq!(Budget::of(&cx).result_chars, 30_000, "the model itself knows better");
}

#[test]
fn a_tools_limit_is_pinned_configured_its_own_or_the_budgets() {
    let configured = settings(&json!({ "tools": { "result_max_chars": { "a": 7 } } }));
    let plain = settings(&json!({}));
    let table = [
        (Limit::Unlimited, &configured, None),
        (Limit::Unlimited, &plain, None),
        (Limit::Chars(50), &configured, Some(7)),
        (Limit::Chars(50), &plain, Some(50)),
        (Limit::Chars(500_000), &plain, Some(100_000)),
        (Limit::Default, &configured, Some(7)),
        (Limit::Default, &plain, Some(100_000)),
    ];
    for (own, settings, wanted) in table {
        let mut tool = entry("a", "x", echo());
        tool.result_chars_max = own;
        assert_eq!(Budget::default().limit_for(&tool, settings), wanted, "{own:?}");
    }
}

#[test]
fn characters_are_counted_not_bytes() {
    assert!(!exceeds(&"é".repeat(10), 10));
    assert!(exceeds(&"é".repeat(11), 10));
    assert!(exceeds("x", 0) && !exceeds("", 0));
}

#[test]
fn a_preview_ends_at_a_line_when_that_keeps_more_than_half() {
    let table = [
        ("short", 10, "short"),
        ("aaaaaaa\nbbbbbbbb", 10, "aaaaaaa"),
        ("a\nbbbbbbbbbbbbbb", 10, "a\nbbbbbbbb"),
        ("ééééééééééééé", 10, "éééééééééé"),
    ];
    for (text, chars, wanted) in table {
        assert_eq!(preview(text, chars), wanted, "{text}");
    }
}

#[test]
fn file_names_are_safe_and_apart() {
    assert_eq!(safe_name("call_AbC-1.2"), "call_AbC-1.2");
    let changed = ["a/b", "a\\b", "../../etc/passwd", "", ".hidden", "ü", &"x".repeat(200)];
    for id in changed {
        let name = safe_name(id);
        let (head, digest) = name.rsplit_once('-').unwrap();
        assert!(
            digest.len() == 12 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{name}"
        );
        assert!(!head.contains(['/', '\\']) && !name.contains("..") && name.len() <= 133, "{name}");
    }
    assert_ne!(safe_name("a/b"), safe_name("a\\b"));
}
