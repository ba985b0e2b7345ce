//! `computer_use` on a real X server under Xvfb, with real programs in it.

use std::sync::Arc;

use petasos_contract::ToolOutput;
use petasos_contract::effect::Effect;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{Secret, Settings};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::screen::{Screen, screen, until};

fn bench(screen: &Screen) -> Bench {
    let mut bench = Bench::new();
    let old = Arc::clone(&bench.cx.settings);
    let variable = Variable {
        value: Secret::new(&*screen.display),
        source: Source::Environment { variable: "DISPLAY".to_owned() },
    };
    bench.cx.settings = Arc::new(Settings::new(Parts {
        home: old.home().to_owned(),
        user_home: old.user_home().to_owned(),
        workspace: old.workspace().to_path_buf(),
        temp: old.temp().to_owned(),
        variables: [("DISPLAY".to_owned(), variable)].into(),
        ..Parts::default()
    }));
    bench
}

fn picture(
    bench: &Bench,
    tool: &Arc<dyn petasos_contract::Tool>,
    args: &Value,
) -> (Value, Vec<u8>) {
    let args = petasos_contract::Args::try_from(args.clone()).unwrap();
    let told = bench.runtime.block_on(petasos_testkit::call(&**tool, args, &bench.cx)).unwrap();
    let ToolOutput::Multimodal(parts) = told else { panic!("no picture: {told:?}") };
    let url = parts.content[1]["image_url"]["url"].as_str().unwrap().to_owned();
    let words = serde_json::from_str(parts.content[0]["text"].as_str().unwrap()).unwrap();
    (words, url.into_bytes())
}

#[test]
fn a_desktop_is_seen_and_acted_on() {
    let Some(screen) = screen("computer_use") else { return };
    let bench = bench(&screen);
    let tool = bench.tool("computer_use");
    let call = |args: Value| {
        let args = petasos_contract::Args::try_from(args).unwrap();
        let told = bench.runtime.block_on(petasos_testkit::call(&*tool, args, &bench.cx)).unwrap();
        let ToolOutput::Text(text) = told else { panic!("{told:?}") };
        serde_json::from_str::<Value>(&text).unwrap()
    };
    until("the window is listed", || {
        call(json!({ "action": "list_windows" }))["windows"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    });
    let listed = call(json!({ "action": "list_windows" }));
    let window = &listed["windows"][0];
    assert_eq!(
        (&window["app"], &window["title"]),
        (&json!("XTerm"), &json!("listener")),
        "{listed}"
    );
    assert_eq!(call(json!({ "action": "list_apps" }))["apps"], json!(["XTerm"]));
    let stale = call(json!({ "action": "click", "element": 1 }));
    assert_eq!(stale["error_type"], "stale", "nothing was captured yet: {stale}");
    let (words, before) = picture(&bench, &tool, &json!({ "action": "capture" }));
    assert_eq!((&words["width"], &words["height"]), (&json!(800), &json!(600)), "{words}");
    assert!(words["elements"][0].as_str().unwrap().contains("[1] XTerm \"listener\""), "{words}");
    assert!(before.starts_with(b"data:image/png;base64,iVBOR"));
    assert_eq!(call(json!({ "action": "click", "element": 1 }))["ok"], json!(true));
    let typed = call(json!({ "action": "type", "text": "Hello, Wörld €!\n" }));
    assert_eq!(typed["ok"], json!(true), "{typed}");
    assert_eq!(call(json!({ "action": "key", "keys": "ctrl+d" }))["ok"], json!(true));
    until("the terminal heard it", || {
        std::fs::read_to_string(&screen.heard).is_ok_and(|heard| heard.contains("Hello, W"))
    });
    let heard = std::fs::read(&screen.heard).unwrap();
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.starts_with("Hello, W") && heard.trim_end().ends_with('!'), "{heard}");
    until("its window is gone", || {
        call(json!({ "action": "list_windows" }))["windows"] == json!([])
    });
    let gone = call(json!({ "action": "click", "element": 1 }));
    assert_eq!(gone["error_type"], "stale", "{gone}");
    let (_, after) = picture(&bench, &tool, &json!({ "action": "capture", "mode": "vision" }));
    assert_ne!(before, after, "the picture is of what is there");
}

// E19 155
#[test]
fn what_would_happen_is_stated_and_the_rest_is_refused() {
    let Some(screen) = screen("computer_use, effects") else { return };
    let bench = bench(&screen);
    let listed = || bench.run("computer_use", &json!({ "action": "list_windows" }));
    until("the window is listed", || {
        listed()["windows"].as_array().is_some_and(|it| !it.is_empty())
    });
    let stated =
        |args: Value| bench.effects("computer_use", &args).iter().cloned().collect::<Vec<_>>();
    let on =
        |app: &str| Effect::Actuate { target: format!("desktop:{app}/foreground"), guarded: false };
    let acts = on("XTerm");
    assert_eq!(stated(json!({ "action": "capture" })), []);
    assert_eq!(stated(json!({ "action": "list_windows" })), []);
    assert_eq!(
        stated(json!({ "action": "click", "coordinate": [100, 100] })),
        std::slice::from_ref(&acts)
    );
    let typed = stated(json!({ "action": "type", "app": "xterm", "text": "rm -rf ~\n" }));
    let cwd = bench.cx.workspace.to_path_buf();
    assert_eq!(typed, [acts, Effect::Command { script: "rm -rf ~".to_owned(), cwd }]);
    let desktop = on("desktop");
    assert_eq!(stated(json!({ "action": "click", "coordinate": [790, 590] })), [desktop]);
    for (args, kind) in [
        (json!({ "action": "key", "keys": "alt+f4" }), "denied"),
        (json!({ "action": "key", "keys": "win+l" }), "denied"),
        (json!({ "action": "set_value", "element": 1, "value": "x" }), "unsupported"),
        (
            json!({ "action": "click", "coordinate": [1, 1], "delivery_mode": "background" }),
            "unsupported",
        ),
        (json!({ "action": "click" }), "bad_argument"),
        (json!({ "action": "drag", "from_coordinate": [1, 1] }), "bad_argument"),
        (json!({ "action": "click", "coordinate": [9000, 1] }), "unsupported"),
        (json!({ "action": "focus_app", "app": "nobody" }), "not_found"),
        (json!({ "action": "type", "text": "" }), "bad_argument"),
        (json!({ "action": "fly" }), "bad_argument"),
    ] {
        let told = bench.run("computer_use", &args);
        assert_eq!(told["error_type"], kind, "{args}: {told}");
    }
    let scrolled = json!({ "action": "scroll", "coordinate": [100, 100], "direction": "down" });
    assert_eq!(bench.run("computer_use", &scrolled)["ok"], json!(true));
    let dragged =
        json!({ "action": "drag", "from_coordinate": [60, 80], "to_coordinate": [160, 90] });
    assert_eq!(bench.run("computer_use", &dragged)["ok"], json!(true));
    let focused = bench.run("computer_use", &json!({ "action": "focus_app", "app": "listener" }));
    assert_eq!(focused["ok"], json!(true), "{focused}");
}
