//! Clicking, typing, keys, scrolling, dialogs, downloads, tabs, console.

use std::time::{Duration, Instant};

use petasos_browser::{ClickKind, ScrollAsk, TypeAsk};
use serde_json::json;

use crate::kit::{Kit, body, reference};

// Acceptance 59, 60, 61, 62: covered, sticky, moving, disabled.
#[tokio::test]
async fn a_click_waits_scrolls_and_says_what_is_in_the_way() {
    let Some(kit) = Kit::start("a_click_waits").await else { return };
    kit.open("<div id=o role=dialog aria-label='Cookies' style='position:fixed;inset:0;background:#fff;z-index:9'><button onclick=\"o.remove()\">Accept</button></div>
      <div style='height:120px'></div><button onclick=\"window.n=(window.n||0)+1\">Buy</button><button disabled>Off</button>
      <header style='position:fixed;top:0;left:0;right:0;height:80px;background:#eee;z-index:5'>Bar</header>
      <div style='height:3000px'></div><button id=low onclick=\"window.low=1\">Low</button><div style='height:2000px'></div>
      <style>@keyframes m{from{margin-left:0}to{margin-left:300px}}</style>
      <button id=mv style='animation:m .5s linear' onclick=\"window.moved=1\">Moving</button>").await;
    let lines = kit.lines().await;
    let error = kit.click(&reference(&lines, "\"Buy\"")).await.unwrap_err();
    assert_eq!(error.kind, "covered", "{error:?}");
    assert!(error.message.contains("Cookies"), "{error}");
    kit.click(&reference(&lines, "\"Accept\"")).await.unwrap();
    kit.browsers.click(&kit.cx, &reference(&lines, "\"Buy\""), ClickKind::Double).await.unwrap();
    assert_eq!(kit.eval("window.n").await, 2);
    let error = kit.click(&reference(&lines, "\"Off\"")).await.unwrap_err();
    assert_eq!((error.kind, error.extra["reason"].as_str()), ("not_actionable", Some("disabled")));
    kit.click(&reference(&lines, "\"Low\"")).await.unwrap();
    kit.click(&reference(&lines, "\"Moving\"")).await.unwrap();
    assert_eq!(kit.eval("[window.low, window.moved]").await, json!([1, 1]));
    kit.end().await;
}

// Acceptance 63, 64, 65, 66, 67: every kind of field, and nothing but it.
#[tokio::test]
async fn every_kind_of_field_takes_its_text_and_no_neighbour_does() {
    let secrets = json!({ "secrets": { "LOGIN": { "env": "LOGIN_PASSWORD", "hosts": ["127.0.0.1"] },
        "OTHER": { "env": "LOGIN_PASSWORD", "hosts": ["bank.example"] } } });
    let Some(kit) = Kit::with("every_kind_of_field", secrets).await else { return };
    kit.open("<input aria-label=text value=old><input aria-label=short maxlength=3><textarea aria-label=area></textarea>
      <input type=date aria-label=date><input type=range aria-label=range min=0 max=10><input type=color aria-label=color>
      <select aria-label=size><option value=s>Small<option value=m>Medium</select><input type=number aria-label=num>
      <input type=password aria-label=pass><div contenteditable aria-label=rich role=textbox>x</div><input aria-label=ro readonly>
      <input aria-label=neighbour value=untouched>
      <input aria-label=tracked id=tr><script>window.log=[];tr.addEventListener('input',e=>log.push([e.isTrusted,tr.value]))</script>").await;
    let lines = kit.lines().await;
    let field = |name: &str| reference(&lines, &format!("\"{name}\""));
    for (name, text) in [
        ("text", "héllo"),
        ("area", "two\nlines"),
        ("date", "2026-02-03"),
        ("range", "7"),
        ("color", "#ff0000"),
        ("size", "medium"),
        ("num", "42"),
        ("rich", "written"),
        ("tracked", "abc"),
    ] {
        let answer =
            kit.type_in(&field(name), text).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let now = answer.get("value_now");
        assert!(now.is_none() || name == "size", "{name}: {now:?}");
    }
    let short = kit.type_in(&field("short"), "abcdef").await.unwrap();
    assert_eq!(short["value_now"], "abc");
    let pass = kit.type_in(&field("pass"), "{{secret:LOGIN}}").await.unwrap();
    assert!(!format!("{pass:?}").contains("hunter2"), "{pass:?}");
    assert_eq!(
        kit.type_in(&field("pass"), "{{secret:OTHER}}").await.unwrap_err().kind,
        "blocked_policy"
    );
    assert_eq!(kit.type_in(&field("ro"), "x").await.unwrap_err().kind, "not_actionable");
    let values =
        kit.eval("[...document.querySelectorAll('input,textarea,select')].map(e=>e.value)").await;
    assert_eq!(
        values,
        json!([
            "héllo",
            "abc",
            "two\nlines",
            "2026-02-03",
            "7",
            "#ff0000",
            "m",
            "42",
            "hunter2-hunter2",
            "",
            "untouched",
            "abc"
        ])
    );
    assert_eq!(kit.eval("document.querySelector('[contenteditable]').innerText").await, "written");
    assert_eq!(kit.eval("log.at(-1)").await, json!([true, "abc"]));
    assert!(!kit.lines().await.contains("hunter2"));
    kit.end().await;
}

// Acceptance 68: a file field gets a file.
#[tokio::test]
async fn a_file_field_gets_a_file_by_its_path() {
    let Some(kit) = Kit::start("a_file_field").await else { return };
    std::fs::create_dir_all(kit.cx.workspace.join("up")).unwrap();
    petasos_browser_write(&kit.cx.workspace.join("up/a.txt"));
    kit.open("<label>Pick <input type=file id=f multiple></label>").await;
    let field = reference(&kit.lines().await, "file \"Pick\"");
    assert_eq!(kit.click(&field).await.unwrap_err().kind, "not_actionable");
    assert_eq!(kit.type_in(&field, "nowhere.txt").await.unwrap_err().kind, "not_found");
    kit.type_in(&field, "up/a.txt").await.unwrap();
    assert_eq!(kit.eval("f.files[0].name").await, "a.txt");
    kit.end().await;
}

fn petasos_browser_write(path: &std::path::Path) {
    use std::io::Write as _;
    std::fs::File::create(path).unwrap().write_all(b"hello").unwrap();
}

// Acceptance 69: dialogs come first.
#[tokio::test]
async fn a_dialog_stops_everything_but_its_own_answer() {
    let Some(kit) = Kit::start("a_dialog_stops").await else { return };
    kit.open("<button onclick=\"alert('careful')\">Alert</button><button onclick=\"window.said=prompt('name?','you')\">Ask</button>").await;
    let lines = kit.lines().await;
    let started = Instant::now();
    let answer = kit.click(&reference(&lines, "\"Alert\"")).await.unwrap();
    assert_eq!(answer["pending_dialogs"][0]["message"], "careful");
    assert!(
        started.elapsed() < petasos_testkit::pace::fair(Duration::from_secs(3)),
        "{:?}",
        started.elapsed()
    );
    let error = kit.click("@e2").await.unwrap_err();
    assert_eq!(error.kind, "dialog_open");
    let closed = kit.browsers.dialog(&kit.cx, true, (None, None)).await.unwrap();
    assert_eq!(closed["dialog"]["type"], "alert");
    let asked = kit.click(&reference(&lines, "\"Ask\"")).await.unwrap();
    assert_eq!(asked["pending_dialogs"][0]["default"], "you");
    kit.browsers.dialog(&kit.cx, true, (None, Some("Ada"))).await.unwrap();
    assert_eq!(kit.eval("window.said").await, "Ada");
    assert_eq!(
        kit.browsers.dialog(&kit.cx, true, (None, None)).await.unwrap_err().kind,
        "not_found"
    );
    kit.end().await;
}

// Acceptance 70, 71: downloads and tabs.
#[tokio::test]
async fn downloads_are_kept_and_new_tabs_are_followed() {
    let Some(kit) = Kit::start("downloads_are_kept").await else { return };
    kit.server.page("/file", "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=\"../../a b.txt\"\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    kit.server.page("/two", "<h1>Second</h1>");
    kit.open("<a href=/file>Get</a><a href=/two target=_blank>Open</a>").await;
    let lines = kit.lines().await;
    let mut answer = kit.click(&reference(&lines, "\"Get\"")).await.unwrap();
    while answer.get("downloads").is_none_or(|news| news[0]["state"] != "completed") {
        answer =
            kit.browsers.snapshot(&kit.cx, petasos_browser::SnapshotAsk::default()).await.unwrap();
    }
    let path = answer["downloads"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
    assert!(path.ends_with("a b.txt") && !path.contains(".."), "{path}");
    let answer = kit.click(&reference(&lines, "\"Open\"")).await.unwrap();
    assert_eq!(answer["new_tab"], "t2");
    assert!(kit.lines().await.contains("Second"));
    let back = kit.try_open("tab:t1").await.unwrap();
    assert!(body(&back).contains("\"Open\""), "{back:?}");
    let closed = kit.try_open("tab:close:t2").await.unwrap();
    assert_eq!(closed["tabs"].as_array().unwrap().len(), 1);
    assert_eq!(kit.try_open("tab:t9").await.unwrap_err().kind, "not_found");
    kit.end().await;
}

// Acceptance 72, 73: console and scripts.
#[tokio::test]
async fn the_console_is_kept_from_the_first_script_on() {
    let Some(kit) = Kit::start("the_console").await else { return };
    kit.open("<script>console.log('early', {a:1}); setTimeout(()=>{throw new Error('late fault')},0); fetch('/missing')</script>x").await;
    let console = loop {
        let console = kit.browsers.console(&kit.cx, false, None).await.unwrap();
        if console["total_errors"] != 0 && console["total_messages"].as_u64() >= Some(2) {
            break console;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let text = format!("{console:?}");
    assert!(
        text.contains("early") && text.contains("late fault") && text.contains("404"),
        "{text}"
    );
    assert_eq!(kit.eval("Promise.resolve({a:[1,'x']})").await, json!({ "a": [1, "x"] }));
    let thrown = kit.browsers.console(&kit.cx, false, Some("nope()")).await.unwrap_err();
    assert!(thrown.message.contains("nope is not defined"), "{thrown}");
    kit.end().await;
}

#[tokio::test]
async fn restricted_scripts_only_read() {
    let Some(kit) = Kit::with("restricted_scripts", json!({ "restrict_evaluate": true })).await
    else {
        return;
    };
    kit.open("<p id=p>x</p>").await;
    assert_eq!(kit.eval("document.title").await, "Test");
    for code in [
        "p.remove()",
        "fetch('/x')",
        "document.cookie",
        "localStorage.a",
        "location='/y'",
        "p.click()",
    ] {
        let error = kit.browsers.console(&kit.cx, false, Some(code)).await.unwrap_err();
        assert_eq!(error.kind, "blocked_policy", "{code}: {error}");
    }
    kit.end().await;
}

// Acceptance 74: an endless list, and where it ends; keys; history.
#[tokio::test]
async fn scrolling_keys_and_history_do_what_they_say() {
    let Some(kit) = Kit::start("scrolling_keys").await else { return };
    kit.open("<form action=/done><input aria-label=q name=q></form><div id=l></div><script>let n=0;const more=()=>{if(n<60){for(let i=0;i<20;i++)l.innerHTML+='<p style=height:60px><button>Row '+(n++)+'</button></p>'}};more();addEventListener('scroll',()=>{if(innerHeight+scrollY>document.body.scrollHeight-200)more()})</script>").await;
    kit.server.page("/done", "<h1>Done</h1>");
    let ask = |direction: &str| ScrollAsk {
        direction: direction.to_owned(),
        amount: Some(2000.0),
        ..ScrollAsk::default()
    };
    let first = kit.browsers.scroll(&kit.cx, ask("down")).await.unwrap();
    assert!(
        first["moved_px"].as_i64() > Some(0) && first["new_refs"].as_u64() > Some(0),
        "{first:?}"
    );
    let mut at_end = false;
    for _ in 0..8 {
        let answer = kit.browsers.scroll(&kit.cx, ask("down")).await.unwrap();
        at_end = answer["at_end"] == true;
    }
    assert!(at_end);
    let field = reference(&kit.lines().await, "textbox \"q\"");
    let typed = TypeAsk { reference: field, text: "x".to_owned(), submit: true, append: false };
    assert_eq!(kit.browsers.type_text(&kit.cx, typed).await.unwrap()["navigated"], true);
    assert!(kit.lines().await.contains("Done"));
    let back = kit.browsers.back(&kit.cx).await.unwrap();
    assert!(body(&back).contains("Row 0"), "{back:?}");
    kit.type_in(&reference(&kit.lines().await, "textbox \"q\""), "y").await.unwrap();
    kit.browsers.press(&kit.cx, "Enter").await.unwrap();
    assert!(kit.lines().await.contains("Done"));
    assert_eq!(kit.browsers.press(&kit.cx, "Hyper+Q").await.unwrap_err().kind, "bad_argument");
    kit.end().await;
}
