//! `web_extract` over HTTP: kinds, letters, limits, cache, manners, citations.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::{BoxFuture, CallContext, TurnId};
use petasos_web::extract::{ExtractAsk, Reading, extract};
use petasos_web::{Rendered, Renderer, WebError};
use serde_json::{Value, json};

use crate::kit::{Kit, Reply};

const LONG: &str = "<main><h1>Tides</h1><p>The water comes twice a day and nobody has ever stopped it, though many have built walls and some have sat on chairs and given orders to it.</p><p>Whoever walks on the sea floor keeps an eye on the clock, because the water comes from behind, through the channels, long before it comes from the front.</p></main>";

// Acceptance 102: feeds, sitemaps, tables and JSON are read as what they are.
#[tokio::test]
async fn e102_feeds_sitemaps_tables_and_json_are_read() {
    let kit = Kit::start().await;
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages");
    let rss = std::fs::read_to_string(format!("{pages}/feed.xml")).unwrap();
    let atom = "<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><title>Notes</title><entry><title>One</title><link href='https://a.example/1'/><updated>2026-01-02T00:00:00Z</updated><summary>First words</summary></entry></feed>";
    let feed = json!({ "version": "https://jsonfeed.org/version/1.1", "title": "Letters",
        "items": [{ "id": "1", "url": "https://a.example/x", "title": "Hello", "content_text": "Some text" }] });
    let sitemap = "<?xml version='1.0'?><urlset><url><loc>https://a.example/p</loc></url></urlset>";
    let cases = [
        ("/rss", Reply::new("text/xml", rss), "[Spring tide on Thursday](https://tides.example/1)"),
        ("/atom", Reply::new("application/atom+xml", atom), "First words"),
        ("/feed.json", Reply::json(&feed), "Some text"),
        ("/sitemap.xml", Reply::new("application/xml", sitemap), "https://a.example/p"),
        ("/t.csv", Reply::new("text/csv", "name,age\nAda,36\n"), "| name | age |"),
        ("/d.json", Reply::json(&json!({ "a": [1, 2] })), "```json"),
        ("/plain", Reply::new("text/plain", "just words"), "just words"),
        ("/md", Reply::new("text/markdown", "# Title\n\ntext"), "# Title"),
    ];
    for (path, reply, wanted) in cases {
        let url = kit.server.at(path, reply);
        let read = kit.read(&[&url]).await.remove(0);
        assert!(read["content"].as_str().unwrap().contains(wanted), "{path}: {read}");
    }
    let url = kit.server.at("/p.png", Reply::new("image/png", b"\x89PNG".to_vec()));
    assert_eq!(kit.read(&[&url]).await[0]["error_type"], "unsupported");
}

// Acceptance 103: letters by header, by the page's own word, and against a wrong header.
#[tokio::test]
async fn e103_pages_come_in_many_letters() {
    let kit = Kit::start().await;
    let page =
        |words: &str| format!("<html><body><main><p>{}</p></main></body></html>", words.repeat(20));
    let cyrillic: Vec<u8> =
        encoding_rs::WINDOWS_1251.encode(&page("Новый мост открыли. ")).0.into_owned();
    let japanese: Vec<u8> = encoding_rs::SHIFT_JIS.encode(&page("山の駅の図書室。")).0.into_owned();
    let latin: Vec<u8> = encoding_rs::WINDOWS_1252.encode(&page("Grüße aus Köln. ")).0.into_owned();
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(page("Żółta łódka. ").encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let wrong = page("Zażółć gęślą. ").into_bytes();
    for (path, kind, body, wanted) in [
        ("/c", "text/html; charset=windows-1251", cyrillic, "Новый мост"),
        ("/j", "text/html; charset=Shift_JIS", japanese, "図書室"),
        ("/l", "text/html; charset=iso-8859-1", latin, "Grüße aus Köln"),
        ("/w", "text/html", wide, "Żółta łódka"),
        ("/x", "text/html; charset=iso-8859-1", wrong, "Zażółć gęślą"),
    ] {
        let url = kit.server.at(path, Reply::new(kind, body));
        let read = kit.read(&[&url]).await.remove(0);
        assert!(read["content"].as_str().unwrap().contains(wanted), "{path}: {read}");
    }
}

// Acceptance 104: what unpacks to more than the cap is stopped there.
#[tokio::test]
async fn e104_a_bomb_stops_at_the_cap() {
    let kit = Kit::start().await;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..60 {
        packer.write_all(&vec![b'a'; 1 << 20]).unwrap();
    }
    let bomb = Reply::new("text/html", packer.finish().unwrap()).header("content-encoding", "gzip");
    let url = kit.server.at("/bomb", bomb);
    let started = Instant::now();
    let read = kit.read(&[&url]).await.remove(0);
    assert_eq!(read["error_type"], "too_large", "{read}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

// Acceptance 106: order is kept, one failure is its own, and pages are read beside each other.
#[tokio::test]
async fn e106_five_pages_are_read_beside_each_other() {
    let kit = Kit::start().await;
    let slow = Duration::from_millis(300);
    let urls: Vec<String> = (0..4)
        .map(|n| {
            kit.server
                .at(&format!("/{n}"), Reply::html(&format!("{LONG}<p>number {n}</p>")).after(slow))
        })
        .chain([format!("{}/missing", kit.server.url)])
        .collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let read = kit.read(&urls).await;
    for (n, page) in read.iter().take(4).enumerate() {
        assert!(page["content"].as_str().unwrap().contains("Tides"), "{n}: {page}");
        assert_eq!(page["url"], urls[n]);
    }
    assert_eq!(read[4]["error_type"], "not_found");
    // Two at once for one host, however many pages are asked for.
    assert_eq!(kit.server.most(), 2);
}

// Acceptance 107: kept for an hour, asked again with validators, never when the server says so.
#[tokio::test]
async fn e107_pages_are_kept_and_asked_about_again() {
    let kit = Kit::start().await;
    let url = kit.server.at("/kept", Reply::html(LONG));
    assert_eq!(kit.read(&[&url]).await[0].get("cached"), None);
    assert_eq!(kit.read(&[&url]).await[0]["cached"], true);
    assert_eq!(kit.server.heard().len(), 1);
    let ask = ExtractAsk { urls: vec![url], refresh: true, ..ExtractAsk::default() };
    assert_eq!(kit.asked(&ask).await[0].get("cached"), None);
    assert_eq!(kit.server.heard().len(), 2);
    let tagged = Reply::html(LONG).header("etag", "\"v1\"").header("cache-control", "no-cache");
    let url = kit.server.at("/tagged", tagged);
    kit.read(&[&url]).await;
    kit.server.at("/tagged", Reply::html("").status(304));
    let again = kit.read(&[&url]).await.remove(0);
    assert_eq!(again["cached"], true, "{again}");
    assert!(again["content"].as_str().unwrap().contains("Tides"));
    let asked = kit.server.heard().last().cloned().unwrap();
    assert_eq!(asked.headers.get("if-none-match").map(String::as_str), Some("\"v1\""));
    let url = kit.server.at("/never", Reply::html(LONG).header("cache-control", "no-store"));
    kit.read(&[&url]).await;
    assert_eq!(kit.read(&[&url]).await[0].get("cached"), None);
}

// Acceptance 108: a schedule is a crawler and a person's question is none.
#[tokio::test]
async fn e108_robots_are_followed_where_nobody_asked() {
    let mut kit = Kit::start().await;
    kit.server.at("/robots.txt", Reply::new("text/plain", "User-agent: *\nDisallow: /shut/\n"));
    let shut = kit.server.at("/shut/page", Reply::html(LONG));
    let open = kit.server.at("/open", Reply::html(LONG));
    assert_eq!(kit.read(&[&shut]).await[0]["error"], Value::Null);
    assert!(kit.server.heard().iter().all(|heard| !heard.line.contains("robots.txt")));
    let ask = |url: &str| ExtractAsk {
        urls: vec![url.to_owned()],
        refresh: true,
        ..ExtractAsk::default()
    };
    kit.cx = kit.cx.clone().attended(false);
    let told = kit.asked(&ask(&shut)).await.remove(0);
    assert_eq!(told["error_type"], "blocked_site", "{told}");
    assert!(told["error"].as_str().unwrap().contains("robots.txt"));
    assert_eq!(kit.asked(&ask(&open)).await[0]["error"], Value::Null);
    // A place that is not reached has no rules to blame.
    let told = kit.asked(&ask("http://10.0.0.1/page")).await.remove(0);
    assert_eq!(told["error_type"], "blocked_address", "{told}");
    kit.set(&json!({ "robots": "off" }), &[]);
    kit.cx = kit.cx.clone().attended(false);
    assert_eq!(kit.asked(&ask(&shut)).await[0]["error"], Value::Null);
    kit.set(&json!({ "robots": "always" }), &[]);
    assert_eq!(kit.asked(&ask(&shut)).await[0]["error_type"], "blocked_site");
}

// Acceptance 109: the same page keeps its number, also in the next process, and points into its text.
#[tokio::test]
async fn e109_a_page_keeps_its_number_and_can_be_looked_up() {
    let mut kit = Kit::start().await;
    let one = kit.server.at("/one", Reply::html(LONG));
    let two = kit.server.at("/two", Reply::html(&LONG.replace("Tides", "Ebb")));
    assert_eq!(kit.read(&[&one]).await[0]["source_id"], "w1");
    assert_eq!(kit.read(&[&two]).await[0]["source_id"], "w2");
    assert_eq!(kit.read(&[&one]).await[0]["source_id"], "w1");
    kit.sources = Arc::default();
    let list = kit.sources.list(&kit.cx.session, &kit.cx.settings);
    assert_eq!(list.iter().map(|page| page.url.as_str()).collect::<Vec<_>>(), [&one, &two]);
    assert_eq!(list[1].title.as_deref(), Some("T"));
    assert_eq!(list[1].passage(1).unwrap().lines().next(), Some("# Ebb"));
    assert!(list[1].passage(3).unwrap().starts_with("The water comes twice a day"));
    assert_eq!(list[1].passage(9000), None);
    std::fs::write(list[1].stored.as_ref().unwrap(), "other words").unwrap();
    assert_eq!(list[1].passage(1), None, "a text that was changed is no witness");
    assert_eq!(kit.read(&[&two]).await[0]["source_id"], "w2");
}

/// Somebody with a browser, or without.
#[derive(Debug)]
struct Stage(bool);

impl Renderer for Stage {
    fn is_there(&self, _: &CallContext) -> bool {
        self.0
    }

    fn render<'a>(
        &'a self,
        url: &'a str,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Rendered, WebError>> {
        let root = "<template shadowrootmode='open'><p>Also in a component, which is read as well as what is around it.</p></template>";
        let html =
            format!("<html><body><div id=root>{LONG}<x-part>{root}</x-part></div></body></html>");
        Box::pin(std::future::ready(Ok(Rendered { url: url.to_owned(), html })))
    }
}

// Acceptance 100, without a real browser; the tools' test has one.
#[tokio::test]
async fn e100_a_page_of_scripts_alone_is_rendered_where_that_can_be() {
    let mut kit = Kit::start().await;
    let shell = "<div id=root></div><noscript>Please enable JavaScript</noscript><script src=/a.js></script>";
    let url = kit.server.at("/app", Reply::html(shell));
    let ask = ExtractAsk { urls: vec![url], refresh: true, ..ExtractAsk::default() };
    let read = async |kit: &Kit, stage: &Stage| {
        let reading = Reading { sources: &kit.sources, renderer: Some(stage) };
        extract(&ask, reading, &kit.cx).await.unwrap()["results"][0].clone()
    };
    let told = read(&kit, &Stage(true)).await;
    assert_eq!(told["rendered"], true, "{told}");
    assert!(told["content"].as_str().unwrap().contains("Also in a component"), "{told}");
    assert_eq!(read(&kit, &Stage(false)).await["error_type"], "no_result");
    kit.set(&json!({ "js_fallback": false }), &[]);
    assert_eq!(read(&kit, &Stage(true)).await["error_type"], "no_result");
}

// Issue 23: a cancel is heard within a quarter of a second, whatever the server does.
#[tokio::test]
async fn a_cancel_is_heard_while_a_page_is_read() {
    let kit = Kit::start().await;
    let url = kit.server.at("/slow", Reply::html(LONG).after(Duration::from_secs(30)));
    let cx = kit.cx.for_call("c".into());
    let (cancel, sources) = (cx.cancel.clone(), Arc::clone(&kit.sources));
    let asked = petasos_contract::wait::Owned::start(async move {
        let ask = ExtractAsk { urls: vec![url], ..ExtractAsk::default() };
        extract(&ask, Reading { sources: &sources, renderer: None }, &cx).await
    });
    while kit.server.heard().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let started = Instant::now();
    cancel.cancel();
    assert_eq!(asked.join().await.unwrap().unwrap_err().kind, "cancelled");
    assert!(
        started.elapsed() < petasos_testkit::pace::fair(Duration::from_millis(250)),
        "{:?}",
        started.elapsed()
    );
}

// E5.3: from the fourth page of a host in a turn on, a second passes between them.
#[tokio::test]
async fn a_host_is_not_hurried() {
    let mut kit = Kit::start().await;
    kit.cx.turn = TurnId::new("t");
    let urls: Vec<String> =
        (0..4).map(|n| kit.server.at(&format!("/{n}"), Reply::html(LONG))).collect();
    let started = Instant::now();
    for url in &urls {
        kit.read(&[url]).await;
    }
    assert!(started.elapsed() >= Duration::from_secs(1));
}

// Acceptance 22, 23: addresses that hide something or hold a key.
#[tokio::test]
async fn e22_e23_bad_addresses_and_keys_in_them_are_refused() {
    let kit = Kit::start().await;
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    let twice = key.replace('-', "%252D");
    for url in [
        format!("https://a.example/{key}"),
        format!("https://a.example/?q={key}"),
        format!("https://a.example/#{key}"),
        format!("https://a.example/?q={twice}"),
    ] {
        let ask =
            ExtractAsk { urls: vec![kit.server.url.clone(), url.clone()], ..ExtractAsk::default() };
        let reading = Reading { sources: &kit.sources, renderer: None };
        let error = extract(&ask, reading, &kit.cx).await.unwrap_err();
        assert_eq!(error.kind, "blocked_policy", "{url}");
    }
    for url in [
        "http://u:p@a.example/",
        "http://a.example\\@b/",
        "http://a\u{7}.example/",
        "file:///etc/passwd",
    ] {
        let told = kit.read(&[url]).await.remove(0);
        assert!(
            matches!(told["error_type"].as_str(), Some("bad_argument" | "blocked_address")),
            "{told}"
        );
    }
    assert!(kit.server.heard().is_empty());
}

// Acceptance 16, 17, 19, 25: the table of addresses by the tool's own door, direct and as what a
// page redirects to; an exception opens its own entry; redirects end.
#[tokio::test]
async fn e16_e17_e19_e25_no_address_of_the_table_is_read() {
    let mut kit = Kit::start().await;
    let own = kit.server.url.trim_start_matches("http://").to_owned();
    kit.reaching(&json!([own]));
    // Names of tests need a resolver of the test's own; those are in the suite of the net.
    let table = petasos_testkit::addresses::REFUSED
        .iter()
        .filter(|it| it.rsplit_once('.').is_none_or(|(_, top)| top != "test"));
    let table: Vec<&&str> = table.collect();
    assert!(table.len() >= 75, "{}", table.len());
    for (at, address) in table.iter().enumerate() {
        let path = format!("/to{at}");
        let away = format!("http://{address}/x");
        kit.server.at(&path, Reply::html("away").status(302).header("location", &away));
        for url in [away, format!("{}{path}", kit.server.url)] {
            // A turn of its own each: a host that is asked often in one turn is asked slowly.
            kit.cx.turn = TurnId::new(format!("turn {url}"));
            let told = kit.read(&[&url]).await.remove(0);
            let kind = told["error_type"].as_str();
            let refused = matches!(kind, Some("blocked_address" | "bad_argument"));
            // A location that is no text leads nowhere.
            let nowhere = told["error"].as_str().is_some_and(|it| it.contains("not followed"));
            assert!(refused || nowhere, "{address}: {told}");
        }
    }
    kit.server.at("/fine", Reply::html(&format!("<p>{}</p>", "readable words ".repeat(30))));
    kit.cx.turn = TurnId::new("the pair that is open");
    let told = kit.read(&[&format!("{}/fine", kit.server.url)]).await.remove(0);
    assert!(told["content"].as_str().unwrap().contains("readable words"), "{told}");
    for hop in 0..6 {
        let next = format!("/hop{}", hop + 1);
        kit.server
            .at(&format!("/hop{hop}"), Reply::html("on").status(302).header("location", &next));
    }
    kit.cx.turn = TurnId::new("six");
    let told = kit.read(&[&format!("{}/hop0", kit.server.url)]).await.remove(0);
    assert!(told["error"].as_str().unwrap().contains("redirect"), "{told}");
}
