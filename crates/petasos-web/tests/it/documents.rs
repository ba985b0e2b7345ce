//! Documents that are made to hurt whoever reads them: each is read, or left, in time.

use std::time::{Duration, Instant};

use petasos_web::html;

/// Each stays below the limit of tags, which is where the work is.
fn hostile() -> Vec<(&'static str, String)> {
    let many = 10_000;
    let repeated =
        |open: &str, close: &str| format!("{}x{}", open.repeat(many), close.repeat(many));
    let row = format!("<tr>{}</tr>", "<td>cell</td>".repeat(1_000));
    vec![
        ("deep", repeated("<div>", "</div>")),
        ("unclosed", "<p><b><i><a href=x>".repeat(many / 4)),
        ("misnested", "<b><p></b>".repeat(many / 2)),
        ("lists", repeated("<ul><li>", "")),
        ("quotes", repeated("<blockquote>", "")),
        ("tables", "<table><tr><td>".repeat(many / 3)),
        ("wide", format!("<table>{}</table>", row.repeat(20))),
        ("links", "<a href=/x>word</a> ".repeat(many)),
        ("attributes", format!("<p {}>x</p>", "a=b ".repeat(500_000))),
        ("value", format!("<p title='{}'>x</p>", "v".repeat(4_000_000))),
        ("comment", format!("<!--{}", "<!-- ".repeat(100_000))),
        ("entities", format!("<p>{}</p>", "&amp;&lt;&#x1F600;".repeat(50_000))),
        ("spans", "<span>a</span>".repeat(many)),
        ("forms", "<form><select><option>".repeat(many / 3)),
        ("templates", repeated("<template>", "")),
        ("drawings", repeated("<svg><g>", "")),
        ("scripts", "<script>a</script>".repeat(many)),
        ("headings", "<h1>a</h1><h2>b</h2>".repeat(many / 2)),
        ("code", repeated("<pre><code>", "")),
        ("details", repeated("<details><summary>s</summary>", "")),
        (
            "styles",
            "<p style='color:red;display:block;opacity:1;font-size:12px'>a</p>".repeat(many),
        ),
        ("data", format!("<script type='application/ld+json'>{}</script>", "[".repeat(1_000_000))),
    ]
}

#[test]
fn hostile_documents_are_read_in_time() {
    let base = petasos_net::Url::parse("http://a.example/").unwrap();
    for (name, body) in hostile() {
        let page = format!("<html><head><title>T</title></head><body>{body}</body></html>");
        let started = Instant::now();
        // As the reader does it: on a thread with a stack like those of the pool.
        let base = base.clone();
        let work = std::thread::Builder::new().stack_size(2 << 20);
        let (done, read) = std::sync::mpsc::channel();
        let reading = move || done.send(html::read(&page, &base).markdown.len()).unwrap();
        let _thread = work.spawn(reading).unwrap();
        let told = read.recv_timeout(Duration::from_secs(40));
        assert!(told.is_ok(), "{name}: {:?} after {:?}", told, started.elapsed());
    }
}
