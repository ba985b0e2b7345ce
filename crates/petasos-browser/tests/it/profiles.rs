//! A profile that stays, pictures with numbers on them, pages for readers, forms.

use std::time::{Duration, Instant};

use petasos_browser::Browsers;
use petasos_contract::ports::Memory as _;
use petasos_terminal::Helpers;
use serde_json::json;

use crate::kit::{Kit, body, reference};

const LOGIN: &str = "document.cookie='login=ada; max-age=99999; path=/';localStorage.name='ada';1";
const KNOWN: &str = "[document.cookie, localStorage.name||null]";

// Acceptance 89: a login stays in its profile, which one session has alone.
#[tokio::test]
async fn e89_a_profile_keeps_its_login_and_has_one_user() {
    let Some(kit) = Kit::with("a_profile", json!({ "profile": "shop" })).await else { return };
    kit.open("<p>in</p>").await;
    kit.eval(LOGIN).await;
    assert_eq!(kit.eval(KNOWN).await, json!(["login=ada", "ada"]));
    let url = format!("http://127.0.0.1:{}/page", kit.server.port);
    let second = kit.browsers.navigate(&kit.other("another"), &url, true).await.unwrap_err();
    assert_eq!(second.kind, "busy", "{second}");
    let elsewhere = Browsers::new(Some(Helpers::new()));
    let third = elsewhere.navigate(&kit.cx, &url, true).await.unwrap_err();
    assert_eq!(third.kind, "busy", "{third}");
    let pids = kit.browsers.usage().await.pids;
    // The browser writes storage down within a second of its change.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    kit.browsers.forget(&kit.cx.session);
    let end = Instant::now() + Duration::from_secs(20);
    while !kit.browsers.usage().await.pids.is_empty() {
        assert!(Instant::now() < end, "{pids:?} still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let again = kit.other("later");
    kit.browsers.navigate(&again, &url, true).await.unwrap();
    let known = kit.browsers.console(&again, false, Some(KNOWN)).await.unwrap();
    assert_eq!(known["result"][1], "ada", "{known:?}");
    assert!(kit.home.path().join("browser/profiles/shop").is_dir());
    let bad = Kit::with("a_bad_profile", json!({ "profile": "../x" })).await.unwrap();
    assert_eq!(bad.try_open(&url).await.unwrap_err().kind, "bad_argument");
    kit.end().await;
}

// E4.11: a person signs in by themselves; sessions with the profile are signed in afterwards.
#[tokio::test]
async fn a_person_signs_in_and_sessions_find_it() {
    let Some(kit) = Kit::with("a_person_signs_in", json!({ "profile": "bank" })).await else {
        return;
    };
    let url = kit.server.page("/in", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: login=ada; Max-Age=99999; Path=/\r\nContent-Length: 12\r\nConnection: close\r\n\r\n<p>hello</p>");
    let shown = kit.browsers.login(&kit.cx, ("bank", Some(&url)), true).await.unwrap_err();
    assert_eq!(shown.kind, "missing_setup", "there is no screen: {shown}");
    let cx = kit.cx.for_call("login".into());
    let (cancel, browsers, there) = (cx.cancel.clone(), kit.browsers.clone(), url.clone());
    let person = petasos_contract::wait::Owned::start(async move {
        browsers.login(&cx, ("bank", Some(&there)), false).await
    });
    let end = Instant::now() + Duration::from_mins(1);
    while !kit.server.lines.lock().iter().any(|line| line.contains("GET /in")) {
        assert!(Instant::now() < end, "the page was not opened");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let meanwhile = kit.try_open(&url).await.unwrap_err();
    assert_eq!(meanwhile.kind, "busy", "{meanwhile}");
    // The browser writes cookies down within a second of their change, and when it ends.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    cancel.cancel();
    person.join().await.unwrap().unwrap();
    kit.server.page("/page", "<p>in</p>");
    kit.open("<p>in</p>").await;
    assert_eq!(kit.eval("document.cookie").await, "login=ada");
    kit.end().await;
}

// E4.12: a session is filmed where that is asked for, and the film plays.
#[tokio::test]
async fn a_session_is_filmed_on_request() {
    let Some(kit) = Kit::with("a_session_is_filmed", json!({ "record_sessions": true })).await
    else {
        return;
    };
    if !std::path::Path::new("/usr/bin/ffmpeg").exists() {
        let told = kit.open("<p>x</p>").await;
        assert!(told["notes"].to_string().contains("not recorded"), "{told:?}");
        return kit.end().await;
    }
    for n in 0..5 {
        kit.open(&format!("<body style='background:rgb({},80,120)'><h1>Scene {n}</h1>", n * 50))
            .await;
    }
    let home = kit.home.path().to_owned();
    kit.browsers.shut_down().await;
    let folders = std::fs::read_dir(home.join("cache/browser/files")).unwrap().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    let recorded: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "webm"))
        .collect();
    let [film] = recorded.as_slice() else { panic!("{recorded:?}") };
    let bytes = std::fs::read(film).unwrap();
    assert!(
        bytes.starts_with(&[0x1a, 0x45, 0xdf, 0xa3]) && bytes.len() > 1000,
        "{} bytes",
        bytes.len()
    );
}

// Acceptance 90: the numbers on a picture are those of the references; the page is as it was.
#[tokio::test]
async fn e90_numbers_are_painted_where_the_references_are() {
    let Some(kit) = Kit::start("numbers_are_painted").await else { return };
    let html = "<body style='margin:0'><button style='position:absolute;left:300px;top:200px;width:120px;height:40px'>Here</button>";
    let answer = kit.open(html).await;
    let button = reference(&body(&answer), "Here");
    let before = kit.eval("document.documentElement.outerHTML").await;
    let picture = kit.browsers.picture(&kit.cx, true).await.unwrap();
    assert_eq!(kit.eval("document.documentElement.outerHTML").await, before);
    let label = &picture["labels"][0];
    assert_eq!(label["ref"], button.as_str());
    assert_eq!((&label["x"], &label["y"]), (&json!(300.0), &json!(200.0)), "{label}");
    let bytes = std::fs::read(picture["screenshot_path"].as_str().unwrap()).unwrap();
    let painted = image::load_from_memory(&bytes).unwrap().to_rgba8();
    let bare = kit.browsers.picture(&kit.cx, false).await.unwrap();
    let bare = std::fs::read(bare["screenshot_path"].as_str().unwrap()).unwrap();
    let bare = image::load_from_memory(&bare).unwrap().to_rgba8();
    assert_eq!(painted.dimensions(), bare.dimensions());
    assert_ne!(painted.get_pixel(300, 220), bare.get_pixel(300, 220), "its left edge");
    assert_ne!(painted.get_pixel(302, 193), bare.get_pixel(302, 193), "its number, above it");
    assert_eq!(painted.get_pixel(20, 20), bare.get_pixel(20, 20));
    kit.end().await;
}

// Acceptance 100: a page of scripts alone, with a component, is read after they ran; and closed.
#[tokio::test]
async fn e100_a_page_is_rendered_for_readers() {
    let Some(kit) = Kit::start("a_page_is_rendered").await else { return };
    let url = kit.server.page("/app", "<div id=root></div><x-p></x-p><script>setTimeout(()=>{root.textContent='drawn late'},60);customElements.define('x-p',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'closed'}).innerHTML='<p>inside a component</p>'}})</script>");
    let refused = kit.browsers.render(&kit.cx, &url).await.unwrap_err();
    assert_eq!(refused.kind, "blocked_address", "{refused}");
    let settings = json!({ "browser": {}, "security": { "private_hosts": ["127.0.0.1"] } });
    let mut cx = kit.cx.clone();
    cx.settings =
        std::sync::Arc::new(petasos_contract::Settings::new(petasos_contract::settings::Parts {
            home: kit.home.path().to_path_buf(),
            values: settings.as_object().unwrap().clone(),
            ..petasos_contract::settings::Parts::default()
        }));
    let (place, html) = kit.browsers.render(&cx, &url).await.unwrap();
    assert_eq!(place, url);
    assert!(html.contains("drawn late") && html.contains("inside a component"), "{html}");
    assert!(html.contains("shadowrootmode"), "{html}");
    assert_eq!(kit.browsers.usage().await.sessions, 0);
    kit.end().await;
}

// E4.12: an action on a form says who gets what, before it is done.
#[tokio::test]
async fn a_form_says_where_it_goes_and_what_it_asks_for() {
    let Some(kit) = Kit::start("a_form_says_where").await else { return };
    let answer = kit.open("<form action='https://pay.example/x'><label>Card <input autocomplete='cc-number'></label><button>Pay</button><button type=button>Help</button></form><form><label>Secret <input type=password></label><input type=submit value=Enter></form><button>Alone</button>").await;
    let lines = body(&answer);
    let form = |name: &str, by_key: bool| {
        kit.browsers.form(&kit.cx, Some(&reference(&lines, name)), by_key)
    };
    let pay = form("\"Pay\"", false).unwrap();
    assert_eq!(
        (pay.host.as_str(), pay.elsewhere, pay.sensitive),
        ("pay.example", true, Some("payment"))
    );
    assert_eq!(form("\"Help\"", false), None);
    assert_eq!(form("\"Alone\"", false), None);
    let login = form("\"Enter\"", false).unwrap();
    assert_eq!((login.elsewhere, login.sensitive), (false, Some("password")));
    assert_eq!(form("\"Card\"", false), None);
    assert!(form("\"Card\"", true).unwrap().elsewhere);
    assert_eq!(kit.browsers.form(&kit.cx, None, true), None);
    kit.type_in(&reference(&lines, "\"Secret\""), "x").await.unwrap();
    assert_eq!(kit.browsers.form(&kit.cx, None, true).unwrap().sensitive, Some("password"));
    kit.end().await;
}
