//! The pages of the services' own site: whole snapshots, large pages, deep frames, odd letters.

use std::time::{Duration, Instant};

use petasos_browser::SnapshotAsk;
use petasos_contract::CallContext;
use serde_json::json;

use crate::kit::{Kit, body, reference};

/// All of them but `poll`, which is never the same; they come to rest.
const STILL: [&str; 29] = [
    "article",
    "console",
    "crash",
    "dialog",
    "editor",
    "form",
    "frame",
    "frames5",
    "hidden",
    "iframe",
    "index",
    "injection",
    "inputs",
    "menu",
    "modal",
    "moving",
    "overlay",
    "popup",
    "replace",
    "scroll",
    "shadow",
    "shop",
    "spa",
    "sticky",
    "tables",
    "tabs",
    "unicode",
    "upload",
    "zoo",
];

/// A snapshot, once it is as wanted or a while has passed: a timer may be late on a busy machine.
async fn told(kit: &Kit, cx: &CallContext, (full, wanted): (bool, &str)) -> String {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let ask = SnapshotAsk { full, ..SnapshotAsk::default() };
        let told = body(&kit.browsers.snapshot(cx, ask).await.unwrap());
        let told = told.replace(&format!("127.0.0.1:{}", kit.server.port), "SITE");
        let told = told.replace(&format!("localhost:{}", kit.server.port), "OTHER");
        if told.trim_end() == wanted.trim_end() || Instant::now() > end {
            return told;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

// Acceptance 47: every page, compact and full, against what a person has looked through. A golden
// that is missing is written, and the test fails until somebody has read it.
#[expect(clippy::disallowed_methods, reason = "a golden file is written for a person to read")]
#[tokio::test]
async fn e47_pages_are_told_as_they_were() {
    let Some(kit) = Kit::start("e47_pages").await else { return };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut differing = Vec::new();
    for name in STILL {
        // Those that others show in frames come before them.
        let url = kit.server.saved(&format!("{name}.html"));
        let cx = kit.other(name);
        let answer = kit.browsers.navigate(&cx, &url, true).await.unwrap();
        // A navigation that overtakes our listening to a new tab never comes to rest for us.
        assert_eq!(answer["settled"], "quiet", "{name}");
        for full in [false, true] {
            let path = folder.join(format!("{name}.{}.txt", if full { "full" } else { "compact" }));
            let golden = std::fs::read_to_string(&path);
            let told = told(&kit, &cx, (full, golden.as_deref().unwrap_or_default())).await;
            match golden {
                Ok(wanted) if wanted.trim_end() == told.trim_end() => {}
                Ok(wanted) => {
                    differing.push(format!("{}:\n{wanted}\n--- is now\n{told}", path.display()));
                }
                Err(_) => {
                    std::fs::create_dir_all(&folder).unwrap();
                    std::fs::write(&path, format!("{}\n", told.trim_end())).unwrap();
                    differing.push(format!("{} was written: read it", path.display()));
                }
            }
        }
        petasos_contract::ports::Memory::forget(&*kit.browsers, &cx.session);
    }
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    kit.end().await;
}

// Acceptance 51: a thousand changes, and no number comes back for another element.
#[tokio::test]
async fn e51_numbers_are_never_used_again() {
    let Some(kit) = Kit::start("e51_numbers").await else { return };
    kit.open("<div id=d></div>").await;
    let mut last = 0;
    for round in 0..10 {
        kit.eval(&format!("d.innerHTML='';for(let i=0;i<100;i++){{const b=document.createElement('button');b.textContent='b{round} '+i;d.append(b)}}1")).await;
        let lines = kit.full().await;
        let numbers: Vec<u32> = lines
            .lines()
            .filter_map(|line| line.split_once("@e")?.1.split(' ').next()?.parse().ok())
            .collect();
        assert_eq!(numbers.len(), 100);
        assert!(numbers.iter().all(|number| *number > last), "{round}");
        last = numbers.into_iter().max().unwrap();
    }
    kit.end().await;
}

// Acceptance 52: frames in frames, as deep as the limit says, and a click in the deepest.
#[tokio::test]
async fn e52_frames_in_frames_are_told_and_clicked() {
    let Some(kit) = Kit::start("e52_frames").await else { return };
    let url = kit.server.saved("frames5.html");
    kit.try_open(&url).await.unwrap();
    let lines = kit.full().await;
    for depth in 1..=5 {
        assert!(lines.contains(&format!("\"Press level {depth}\"")), "{depth}\n{lines}");
    }
    let inside = reference(&lines, "Press level 5");
    kit.click(&inside).await.unwrap();
    assert!(kit.full().await.contains("Pressed level 5"));
    // Its frames go with a page: the next one rests at once, and what was in them is stale.
    // Two samples of a page that may still change are 150 ms apart.
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let started = Instant::now();
        assert_eq!(kit.open("<p>Alone</p>").await["settled"], "quiet");
        if started.elapsed() < Duration::from_millis(140) {
            break;
        }
        assert!(Instant::now() < end, "the frames of the page before are waited for");
    }
    let error = kit.click(&inside).await.unwrap_err();
    assert_eq!((error.kind, &error.extra["reason"]), ("stale", &json!("navigated")), "{error}");
    kit.end().await;
}

// Acceptance 55, 58: letters that nobody sees are removed and counted, and half a pair breaks nothing.
#[tokio::test]
async fn e55_e58_odd_letters_are_cleaned_and_counted() {
    let Some(kit) = Kit::start("e55_letters").await else { return };
    let url = kit.server.saved("unicode.html");
    let answer = kit.try_open(&url).await.unwrap();
    let lines = body(&answer);
    assert!(lines.contains("Zerowidth and bidi and softhyphen."), "{lines}");
    assert!(lines.contains("שלום עולם") && lines.contains("日本語の文章です。"), "{lines}");
    assert!(lines.contains("lone \u{fffd} half"), "{lines}");
    assert!(lines.contains("Grüße senden"), "{lines}");
    assert!(
        answer.get("notes").is_some_and(|notes| notes.to_string().contains("removed")),
        "{:?}",
        answer.get("notes")
    );
    kit.end().await;
}

// Acceptance 56: sixty thousand nodes and more are read in time; the parts add up, what is left can
// be read from where it was cut, and anything can be found.
#[tokio::test]
async fn e56_a_huge_page_is_read_in_time() {
    let Some(kit) = Kit::with("e56_huge", json!({ "command_timeout": 180.0 })).await else {
        return;
    };
    let url = kit.server.page("/huge", "<h1>Huge</h1><div id=d></div><button>Below all</button><script>for(let i=0;i<20000;i++){const p=document.createElement('p');p.innerHTML='line '+i+' <b>bold</b> <i>x</i>';d.append(p)}</script>");
    kit.try_open(&url).await.unwrap();
    let started = Instant::now();
    let full = SnapshotAsk { full: true, ..SnapshotAsk::default() };
    let first = kit.browsers.snapshot(&kit.cx, full.clone()).await.unwrap();
    // Without optimisation, beside other programs, the contract's eight seconds are more.
    let most = if cfg!(debug_assertions) { 40 } else { 8 };
    assert!(started.elapsed() < Duration::from_secs(most), "{:?}", started.elapsed());
    let parts = usize::try_from(first["parts"].as_u64().unwrap()).unwrap();
    assert!(parts > 1 && first["snapshot"].as_str().unwrap().chars().count() <= 15_000 + 300);
    let mut whole = format!("{}\n", body(&first));
    for part in 2..=parts {
        let ask = SnapshotAsk { part: Some(part), ..full.clone() };
        whole.push_str(
            kit.browsers.snapshot(&kit.cx, ask).await.unwrap()["snapshot"].as_str().unwrap(),
        );
    }
    let kept = std::fs::read_to_string(first["snapshot_path"].as_str().unwrap()).unwrap();
    assert_eq!(whole, kept);
    assert!(whole.contains("line 0 bold x") || whole.contains("\"line 0"), "{whole:.400}");
    let more = whole.lines().find(|line| line.contains(" more (browser_snapshot root=")).unwrap();
    let from = more.split("root=").nth(1).unwrap().trim_end_matches(')').to_owned();
    let ask = SnapshotAsk { root: Some(from), ..full.clone() };
    let next = body(&kit.browsers.snapshot(&kit.cx, ask).await.unwrap());
    assert!(next.contains("line ") && !next.contains("\"line 0 "), "{next}");
    let ask = SnapshotAsk { find: Some("line 19999".to_owned()), ..SnapshotAsk::default() };
    let found = body(&kit.browsers.snapshot(&kit.cx, ask).await.unwrap());
    assert!(found.contains("line 19999"), "{found}");
    let ask = SnapshotAsk { find: Some("below all".to_owned()), ..SnapshotAsk::default() };
    let found = body(&kit.browsers.snapshot(&kit.cx, ask).await.unwrap());
    kit.click(&reference(&found, "Below all")).await.unwrap();
    kit.end().await;
}

// Acceptance 69: dialogs by rule, and one that nobody answers in time.
#[tokio::test]
async fn e69_dialogs_are_answered_by_rule_or_in_time() {
    for (policy, wanted) in [("auto_accept", "confirm: true"), ("auto_dismiss", "confirm: false")] {
        let Some(kit) = Kit::with("e69_dialogs", json!({ "dialog_policy": policy })).await else {
            return;
        };
        let url = kit.server.saved("dialog.html");
        let lines = body(&kit.try_open(&url).await.unwrap());
        kit.click(&reference(&lines, "\"Confirm\"")).await.unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while !kit.lines().await.contains(wanted) {
            assert!(Instant::now() < end, "{policy}: {}", kit.lines().await);
        }
        kit.end().await;
    }
    let Some(kit) = Kit::with("e69_dialogs", json!({ "dialog_timeout_s": 0.3 })).await else {
        return;
    };
    let url = kit.server.saved("dialog.html");
    let lines = body(&kit.try_open(&url).await.unwrap());
    let told = kit.click(&reference(&lines, "\"Prompt\"")).await.unwrap();
    assert_eq!(told["pending_dialogs"][0]["type"], "prompt");
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match kit.browsers.snapshot(&kit.cx, SnapshotAsk::default()).await {
            Ok(answer) if body(&answer).contains("prompt: null") => break,
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind, "dialog_open", "{error}"),
        }
        assert!(Instant::now() < end, "the dialog stayed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    kit.end().await;
}

// Acceptance 71: a tab that a page opens late after our click is still our click's.
#[tokio::test]
async fn e71_a_tab_that_opens_a_little_later_is_followed() {
    let Some(kit) = Kit::start("e71_late_tab").await else { return };
    kit.server.page("/other", "<h1>Other</h1>");
    let answer = kit
        .open("<button onclick=\"setTimeout(()=>window.open('/other'),250)\">Later</button>")
        .await;
    kit.click(&reference(&body(&answer), "Later")).await.unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while !kit.lines().await.contains("\"Other\"") {
        assert!(Instant::now() < end);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    kit.end().await;
}
