//! Pages that misbehave: they end in time with a plain answer, and the next page works.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use petasos_browser::{RawAsk, SnapshotAsk};
use petasos_contract::wait::Owned;
use serde_json::{Value, json};

use crate::kit::{Kit, Server, body, reference};

async fn works_again(kit: &Kit) {
    let url = kit.server.page("/after", "<button>Still here</button>");
    assert!(body(&kit.try_open(&url).await.unwrap()).contains("Still here"));
}

fn script(code: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{code}",
        code.len()
    )
}

// A page that sends itself elsewhere for ever, by script and by answer.
#[tokio::test]
async fn a_page_that_never_stays_is_told_as_it_is() {
    let options = json!({ "settle_ms": 1500, "command_timeout": 20.0 });
    let Some(kit) = Kit::with("never_stays", options).await else { return };
    let url = kit.server.page(
        "/spin",
        "<p>round</p><script>setTimeout(()=>location='/spin?'+Math.random(),30)</script>",
    );
    let started = Instant::now();
    let opened = kit.try_open(&url).await;
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    match opened {
        Ok(answer) => assert_eq!(answer["settled"], "capped", "{answer:?}"),
        Err(error) => assert!(matches!(error.kind, "timeout" | "upstream"), "{error}"),
    }
    let url = kit.server.page(
        "/around",
        "HTTP/1.1 302 Found\r\nLocation: /around\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
    let error = kit.try_open(&url).await.unwrap_err();
    assert_eq!(error.kind, "upstream", "{error}");
    assert!(error.message.contains("TOO_MANY_REDIRECTS"), "{error}");
    // One that leaves once is followed to where it leads.
    kit.server.page("/end", "<h1>The end</h1>");
    let url = kit.server.page("/leaves", "<script>location.replace('/end')</script>");
    assert!(body(&kit.try_open(&url).await.unwrap()).contains("The end"));
    works_again(&kit).await;
    kit.end().await;
}

// Hundreds of dialogs, and two hundred windows.
#[tokio::test]
async fn floods_of_dialogs_and_windows_are_counted() {
    let Some(kit) = Kit::with("floods", json!({ "dialog_policy": "auto_dismiss" })).await else {
        return;
    };
    let answer = kit
        .open("<script>for(let i=0;i<300;i++)confirm('question '+i)</script><p>through</p>")
        .await;
    assert!(body(&answer).contains("through"), "{answer:?}");
    let notes = answer["notes"].as_array().unwrap();
    assert!(notes.len() <= 13, "{} notes", notes.len());
    assert!(notes.last().unwrap().as_str().unwrap().contains("more"), "{notes:?}");
    kit.open(
        "<button onclick='for(let i=0;i<200;i++)window.open(\"about:blank\")'>Open all</button>",
    )
    .await;
    let button = reference(&kit.lines().await, "Open all");
    let mut notes =
        kit.click(&button).await.unwrap().remove("notes").unwrap_or_default().to_string();
    let end = Instant::now() + Duration::from_mins(1);
    let tabs = loop {
        let told = kit.try_open("tab:t1").await.unwrap();
        notes.push_str(&told.get("notes").cloned().unwrap_or_default().to_string());
        let tabs = told["tabs"].as_array().unwrap().len();
        if tabs <= 10 || Instant::now() > end {
            break tabs;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(tabs <= 10, "{tabs} tabs");
    assert!(notes.contains("more than 10 tabs"), "{notes}");
    works_again(&kit).await;
    kit.end().await;
}

// A dialog after every dialog: each is told, each can be answered.
#[tokio::test]
async fn dialogs_in_a_row_are_answered_one_by_one() {
    let Some(kit) = Kit::start("dialogs_in_a_row").await else { return };
    let answer =
        kit.open("<script>for(let i=0;i<5;i++)alert('number '+i)</script><p>through</p>").await;
    assert_eq!(answer["pending_dialogs"][0]["message"], "number 0");
    for n in 0..5 {
        let answered = kit.browsers.dialog(&kit.cx, true, (None, None)).await.unwrap();
        assert_eq!(answered["dialog"]["message"], format!("number {n}"), "{answered:?}");
        let end = Instant::now() + Duration::from_secs(10);
        if n == 4 {
            break;
        }
        loop {
            match kit.browsers.snapshot(&kit.cx, SnapshotAsk::default()).await {
                Err(error) if error.kind == "dialog_open" => break,
                _ => assert!(Instant::now() < end, "the next one did not come"),
            }
        }
    }
    works_again(&kit).await;
    kit.end().await;
}

// Files without end: so many are kept, so large, and the answers stay short.
#[tokio::test]
async fn files_without_end_are_cut_off() {
    let Some(kit) = Kit::with("files_without_end", json!({ "download_max_mb": 1 })).await else {
        return;
    };
    kit.open("<button onclick=\"for(let n=0;n<300;n++){const a=document.createElement('a');a.href=window.URL.createObjectURL(new Blob(['x'+n]));a.download='f'+n+'.txt';a.click()}\">Get all</button>").await;
    let button = reference(&kit.lines().await, "Get all");
    let mut answer = kit.click(&button).await.unwrap();
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let news = answer.get("downloads").and_then(Value::as_array).map_or(0, Vec::len);
        assert!(news <= 20, "{news} at once");
        if news > 0 {
            break;
        }
        assert!(Instant::now() < end, "no file came");
        answer = kit.browsers.snapshot(&kit.cx, SnapshotAsk::default()).await.unwrap();
    }
    // One that is larger than allowed is cut off while it comes.
    let big = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=big.bin\r\nContent-Length: 3000000\r\nConnection: close\r\n\r\n{}",
        "x".repeat(3_000_000)
    );
    let other = kit.other("large file");
    let url = kit.server.page("/big", &big);
    let mut told = kit.browsers.navigate(&other, &url, true).await.unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while told.get("downloads").is_none_or(|news| news[0]["state"] == "inProgress") {
        assert!(Instant::now() < end, "{told:?}");
        told = kit.browsers.snapshot(&other, SnapshotAsk::default()).await.unwrap();
    }
    assert_eq!(told["downloads"][0]["state"], "too_large", "{told:?}");
    assert_eq!(told["downloads"][0].get("path"), None);
    works_again(&kit).await;
    kit.end().await;
}

// A frame that goes away while something in it is clicked, and a page that does.
#[tokio::test]
async fn what_goes_away_under_a_click_is_told() {
    let Some(kit) = Kit::start("goes_away").await else { return };
    kit.server.page("/inner", "<button onmousedown='parent.gone()'>Vanish</button>");
    kit.open("<iframe id=f src=/inner></iframe><p id=p>there</p><script>function gone(){f.remove();p.textContent='frame gone'}</script>").await;
    let button = reference(&kit.lines().await, "Vanish");
    let started = Instant::now();
    let clicked = kit.click(&button).await;
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    if let Err(error) = &clicked {
        assert!(matches!(error.kind, "stale" | "upstream" | "crashed"), "{error}");
    }
    assert!(kit.lines().await.contains("frame gone"));
    assert_eq!(kit.click(&button).await.unwrap_err().kind, "stale");
    let url = kit.server.page("/closes", "<button onclick='window.close()'>Close me</button><button onmousedown=\"location='/after'\">Leave</button>");
    kit.server.page("/after", "<p>elsewhere</p>");
    kit.try_open(&url).await.unwrap();
    let leave = reference(&kit.lines().await, "Leave");
    let left = kit.click(&leave).await.unwrap();
    assert_eq!(left["navigated"], true, "{left:?}");
    works_again(&kit).await;
    kit.end().await;
}

// A service worker, a shared one and a socket of theirs reach no other private address.
#[tokio::test]
async fn e78_workers_that_outlive_a_page_reach_nothing_else() {
    let Some(kit) = Kit::start("workers_reach").await else { return };
    let other = Server::start().await;
    other.page("/x", "<p>secret</p>");
    let port = other.port;
    let code = format!(
        "const u='http://127.0.0.1:{port}/x';
         const all=()=>Promise.allSettled([fetch(u,{{mode:'no-cors'}}),fetch('http://localhost:{port}/x',{{mode:'no-cors'}}),
           new Promise(d=>{{try{{const w=new WebSocket('ws://127.0.0.1:{port}/x');w.onopen=w.onerror=w.onclose=d}}catch(e){{d()}}}})]);
         self.oninstall=e=>e.waitUntil(all());
         self.onactivate=e=>e.waitUntil(self.clients.claim());
         self.onfetch=e=>{{if(e.request.url.includes('via'))e.respondWith(fetch(u,{{mode:'no-cors'}}).catch(()=>new Response('refused')))}};
         self.onconnect=e=>{{e.ports[0].postMessage('began');all().then(()=>e.ports[0].postMessage('tried'))}};"
    );
    kit.server.page("/sw.js", &script(&code));
    kit.open("<script>window.out=[];
      navigator.serviceWorker.register('/sw.js').then(()=>navigator.serviceWorker.ready).then(()=>out.push('active')).then(()=>fetch('/via')).then(()=>out.push('via'),()=>out.push('via'));
      const s=new SharedWorker('/sw.js');s.port.onmessage=e=>out.push(e.data=='tried'?'shared':e.data);s.port.start();s.onerror=()=>out.push('shared');
      </script>").await;
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let out = kit.eval("out").await;
        if ["active", "via", "shared"]
            .iter()
            .all(|word| out.as_array().unwrap().contains(&json!(word)))
        {
            break;
        }
        assert!(Instant::now() < end, "{out}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(other.hits.load(Ordering::SeqCst), 0, "{:?}", other.lines.lock());
    kit.end().await;
}

// The process dies while something is clicked that never stands still: told, and not repeated.
#[tokio::test]
async fn e83_a_process_that_dies_under_a_click_is_told() {
    let Some(kit) = Kit::start("dies_under_a_click").await else { return };
    kit.open("<style>@keyframes m{to{margin-left:900px}}button{animation:m 1s linear infinite alternate}</style><button onclick='fetch(\"/clicked\")'>Catch me</button>").await;
    let button = reference(&kit.lines().await, "Catch me");
    let (cx, browsers) = (kit.cx.clone(), kit.browsers.clone());
    let clicking = Owned::start(async move {
        browsers.click(&cx, &button, petasos_browser::ClickKind::Left).await
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    for pid in kit.browsers.usage().await.pids {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }
    let error = clicking.join().await.unwrap().unwrap_err();
    assert_eq!(error.kind, "crashed", "{error}");
    let again = kit.open("<button>New</button>").await;
    assert_eq!(again["session_restarted"], true);
    assert!(!kit.server.lines.lock().iter().any(|line| line.contains("/clicked")));
    kit.end().await;
}

// Acceptance 88: what one session has open is not seen, moved, ended or used by another one, the
// bare protocol included.
#[tokio::test]
async fn e88_a_session_reaches_no_other_by_the_bare_protocol() {
    let Some(kit) = Kit::with("e88_bare", json!({ "raw_cdp": true })).await else { return };
    kit.open(
        "<h1>Diary of the first</h1><script>document.cookie='a=1';document.title='diary'</script>",
    )
    .await;
    let ask = |method: &str, params: Value| RawAsk {
        method: method.to_owned(),
        params: params.as_object().cloned().unwrap_or_default(),
        ..RawAsk::default()
    };
    let own = kit.browsers.raw(&kit.cx, ask("Target.getTargetInfo", json!({}))).await.unwrap();
    let own = &own["result"]["targetInfo"];
    let (target, context) = (own["targetId"].clone(), own["browserContextId"].clone());
    assert!(target.is_string() && context.is_string(), "{own}");
    let other = kit.other("another");
    let url = kit.server.page("/other", "<p>other</p>");
    kit.browsers.navigate(&other, &url, true).await.unwrap();
    let navigate = json!({ "id": 1, "method": "Page.navigate", "params": { "url": url } });
    let cookie = json!({ "name": "b", "value": "2", "url": url });
    for (method, params) in [
        ("Target.getTargets", json!({})),
        ("Target.getTargetInfo", json!({ "targetId": target })),
        ("Target.getBrowserContexts", json!({})),
        ("Target.activateTarget", json!({ "targetId": target })),
        (
            "Target.sendMessageToTarget",
            json!({ "targetId": target, "message": navigate.to_string() }),
        ),
        ("Target.createTarget", json!({ "url": "about:blank", "browserContextId": context })),
        ("Target.closeTarget", json!({ "targetId": target })),
        ("Target.setRemoteLocations", json!({ "locations": [] })),
        ("Storage.setCookies", json!({ "cookies": [cookie], "browserContextId": context })),
        ("Storage.clearCookies", json!({ "browserContextId": context })),
        (
            "Browser.grantPermissions",
            json!({ "permissions": ["geolocation"], "browserContextId": context }),
        ),
        (
            "Browser.setPermission",
            json!({ "permission": { "name": "geolocation" }, "setting": "granted", "browserContextId": context }),
        ),
        ("Browser.getWindowForTarget", json!({ "targetId": target })),
        ("Browser.getBrowserCommandLine", json!({})),
    ] {
        let answer = kit.browsers.raw(&other, ask(method, params)).await;
        let told = format!("{answer:?}");
        assert!(!told.contains("diary") && !told.contains("/page"), "{method}: {told}");
    }
    assert!(kit.lines().await.contains("Diary of the first"));
    assert_eq!(kit.eval("document.cookie").await, "a=1");
    let allowed = "navigator.permissions.query({name:'geolocation'}).then(it=>it.state)";
    assert_ne!(kit.eval(allowed).await, "granted");
    kit.end().await;
}

// Line 68 and E4.10 by the bare protocol: files of this machine get into a page by one way alone,
// which is judged; a method is judged as it is sent; restricted scripts stay restricted.
#[tokio::test]
async fn the_bare_protocol_is_no_way_around_the_tools() {
    let options = json!({ "raw_cdp": true, "restrict_evaluate": true });
    let Some(kit) = Kit::with("bare_protocol", options).await else { return };
    kit.open("<input type=file><div id=d>drop</div>").await;
    let ask = |method: &str, params: Value| RawAsk {
        method: method.to_owned(),
        params: params.as_object().cloned().unwrap_or_default(),
        opens_private: true,
        ..RawAsk::default()
    };
    let files = json!(["/etc/hostname"]);
    let dropped = json!({ "type": "drop", "x": 1, "y": 1,
        "data": { "items": [], "files": files, "dragOperationsMask": 1 } });
    let loaded = json!({ "url": "file:///etc/hostname", "frameId": "x",
        "options": { "disableCache": true, "includeCredentials": false } });
    for (method, params, word) in [
        ("DOM.setFileInputFiles", json!({ "files": files, "nodeId": 1 }), "blocked_policy"),
        ("Input.dispatchDragEvent", dropped, "blocked_policy"),
        ("Network.loadNetworkResource", loaded, "blocked_address"),
        ("Runtime.evaluate", json!({ "expression": "document.cookie" }), "blocked_policy"),
        (" Runtime.evaluate ", json!({ "expression": "1" }), "blocked_policy"),
        ("Tracing.start", json!({}), "blocked_policy"),
        (" Browser.close", json!({}), "blocked_policy"),
    ] {
        let error = kit.browsers.raw(&kit.cx, ask(method, params)).await.unwrap_err();
        assert_eq!(error.kind, word, "{method}: {error}");
    }
    for method in ["Network.getAllCookies", " Network.getAllCookies", "Page.getCookies\n"] {
        assert!(ask(method, json!({})).is_asked(), "{method:?}");
    }
    works_again(&kit).await;
    kit.end().await;
}

// A page stays when something on it does not arrive; one that does not arrive itself is told.
#[tokio::test]
async fn a_picture_that_breaks_does_not_take_its_page_along() {
    let Some(kit) = Kit::start("a_broken_picture").await else { return };
    let half = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Le";
    kit.server.page("/half.png", half);
    let answer = kit.open("<img src=/half.png><script src=/half.png></script><p>here</p>").await;
    assert!(body(&answer).contains("here") && answer["status"] == 200, "{answer:?}");
    assert!(kit.server.lines.lock().iter().any(|line| line.contains("/half.png")));
    let url = kit.server.page("/half", half);
    let error = kit.try_open(&url).await.unwrap_err();
    assert_eq!(error.kind, "upstream", "{error}");
    works_again(&kit).await;
    kit.end().await;
}
