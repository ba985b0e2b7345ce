//! Browsers that a service runs: each service is a double that answers by its published schema and
//! hands out a real Chromium.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use petasos_contract::ports::Memory as _;
use petasos_contract::processes::{Helper, HelperSpec, Processes as _};
use petasos_terminal::Helpers;
use serde_json::{Value, json};

use crate::kit::{Kit, Server, body};

const KEY: &str = "key-for-tests-4711";

/// A Chromium of somebody else, and the address of its protocol.
async fn theirs(kit: &Kit, folder: &std::path::Path) -> (Helper, String) {
    let program = petasos_browser::find(&kit.cx.settings).unwrap();
    let argv = [
        program.to_str().unwrap(),
        "--headless=new",
        "--no-sandbox",
        "--remote-debugging-port=0",
        "--no-first-run",
        "--disable-gpu",
        &format!("--user-data-dir={}", folder.display()),
        "about:blank",
    ];
    let spec = HelperSpec::new("their browser", argv.map(str::to_owned).to_vec(), &kit.cx.settings);
    let helper = Helpers::new().start(spec).await.unwrap();
    let file = folder.join("DevToolsActivePort");
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let told = std::fs::read_to_string(&file).unwrap_or_default();
        let mut lines = told.lines();
        if let (Some(port), Some(path)) = (lines.next(), lines.next()) {
            return (helper, format!("ws://127.0.0.1:{port}{path}"));
        }
        assert!(Instant::now() < end, "their browser did not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn reply(body: &Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The service's name, its key, its variable for another address, where sessions are made and
/// ended, and its answer.
fn doubles(cdp: &str) -> Vec<(&'static str, &'static str, &'static str, [&'static str; 2], Value)> {
    vec![
        (
            "browserbase",
            "BROWSERBASE_API_KEY",
            "BROWSERBASE_BASE_URL",
            ["POST /v1/sessions", "POST /v1/sessions/s-1"],
            json!({ "id": "s-1", "status": "RUNNING", "projectId": "p", "keepAlive": false,
                "region": "us-west-2", "proxyBytes": 0, "connectUrl": cdp, "signingKey": "k" }),
        ),
        (
            "browser-use",
            "BROWSER_USE_API_KEY",
            "BROWSER_USE_BASE_URL",
            ["POST /api/v3/browsers", "PATCH /api/v3/browsers/s-1"],
            json!({ "id": "s-1", "status": "active", "cdpUrl": cdp, "liveUrl": "https://l.example" }),
        ),
        (
            "firecrawl",
            "FIRECRAWL_API_KEY",
            "FIRECRAWL_API_URL",
            ["POST /v2/browser", "DELETE /v2/browser/s-1"],
            json!({ "success": true, "id": "s-1", "cdpUrl": cdp, "expiresAt": "2026-01-01T00:00:00Z" }),
        ),
    ]
}

#[tokio::test]
async fn a_browser_of_each_service_is_made_used_and_ended() {
    let Some(kit) = Kit::start("cloud_browsers").await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (helper, cdp) = theirs(&kit, folder.path()).await;
    for (id, key, variable, [made, ended], answer) in doubles(&cdp) {
        let vendor = Server::start().await;
        vendor.page(made.split_once(' ').unwrap().1, &reply(&answer));
        vendor.page(ended.split_once(' ').unwrap().1, &reply(&json!({ "success": true })));
        let base = format!("http://127.0.0.1:{}", vendor.port);
        let settings = json!({ "cloud_provider": id, "auto_local_for_private_urls": false });
        let variables = [(key, KEY), (variable, base.as_str())];
        let cloud = Kit::with_variables("cloud_browsers", settings, &variables).await.unwrap();
        assert_eq!(cloud.browsers.vendor(&cloud.cx), Some(("127.0.0.1".to_owned(), 1)));
        let opened = cloud.open("<button>In the cloud</button>").await;
        assert!(body(&opened).contains("In the cloud"), "{id}");
        assert_eq!(opened["notes"], json!(["addresses are checked afterwards here"]), "{id}");
        assert!(!serde_json::to_string(&opened).unwrap().contains(KEY));
        assert_eq!(cloud.browsers.vendor(&cloud.cx), Some(("127.0.0.1".to_owned(), 0)));
        // A page that loads something of a private address is blanked; its own pair was opened.
        let other = Server::start().await;
        other.page("/x", "<p>secret</p>");
        let loads =
            cloud.server.page("/loads", &format!("<img src='http://127.0.0.1:{}/x'>", other.port));
        let blanked = cloud.try_open(&loads).await;
        assert_eq!(blanked.unwrap_err().kind, "blocked_address", "{id}");
        cloud.browsers.forget(&cloud.cx.session);
        let end = Instant::now() + Duration::from_secs(20);
        while !vendor.lines.lock().iter().any(|line| line.starts_with(ended)) {
            assert!(Instant::now() < end, "{id}: {:?}", vendor.lines.lock());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(vendor.lines.lock()[0].starts_with(made), "{id}");
        cloud.end().await;
    }
    helper.hand.kill(Duration::from_millis(200)).await.unwrap();
    kit.end().await;
}

#[tokio::test]
async fn a_service_that_refuses_says_why_and_no_other_browser_is_used() {
    let Some(kit) = Kit::start("a_cloud_refuses").await else { return };
    let url = kit.server.page("/x", "<p>x</p>");
    for (status, kind) in [(401, "auth"), (402, "quota"), (429, "rate_limited"), (500, "upstream")]
    {
        let vendor = Server::start().await;
        vendor.page(
            "/v1/sessions",
            &format!("HTTP/1.1 {status} No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"),
        );
        let base = format!("http://127.0.0.1:{}", vendor.port);
        let settings =
            json!({ "cloud_provider": "browserbase", "auto_local_for_private_urls": false });
        let variables = [("BROWSERBASE_API_KEY", KEY), ("BROWSERBASE_BASE_URL", base.as_str())];
        let cloud = Kit::with_variables("a_cloud_refuses", settings, &variables).await.unwrap();
        let error = cloud.try_open(&url).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert_eq!(vendor.hits.load(Ordering::SeqCst), 1);
    }
    let none = Kit::with("a_cloud_refuses", json!({ "cloud_provider": "nobody" })).await.unwrap();
    assert_eq!(none.try_open(&url).await.unwrap_err().kind, "missing_setup");
    let keyless = json!({ "cloud_provider": "firecrawl", "auto_local_for_private_urls": false });
    let keyless = Kit::with("a_cloud_refuses", keyless).await.unwrap();
    let error = keyless.try_open(&url).await.unwrap_err();
    assert_eq!(error.extra["missing"], json!(["FIRECRAWL_API_KEY"]));
    assert_eq!(kit.server.hits.load(Ordering::SeqCst), 0);
    // A private address is opened here while others would be opened there.
    let local =
        Kit::with("a_cloud_refuses", json!({ "cloud_provider": "firecrawl" })).await.unwrap();
    assert!(body(&local.open("<p>at home</p>").await).contains("at home"));
    assert!(local.lines().await.contains("at home"));
    local.end().await;
    kit.end().await;
}
