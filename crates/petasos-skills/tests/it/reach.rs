//! E16, E17: addresses from which no skill is fetched, direct and as what somebody redirects to.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use petasos_skills::hub::{Fetcher, Source};
use petasos_testkit::addresses::REFUSED;
use serde_json::json;

use crate::world::World;

/// Redirects `/to/NUMBER/…` to that row of the table.
fn redirecting(table: Vec<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut reader = BufReader::new(socket.try_clone().unwrap());
            let mut first = String::new();
            reader.read_line(&mut first).unwrap_or_default();
            let mut line = String::from("x");
            while !line.trim().is_empty() {
                line.clear();
                reader.read_line(&mut line).unwrap_or_default();
            }
            let number = first.split('/').nth(2).and_then(|word| word.parse::<usize>().ok());
            let to = number.and_then(|number| table.get(number)).unwrap_or(&"nowhere.invalid");
            let told = format!(
                "HTTP/1.1 302 X\r\nlocation: http://{to}/SKILL.md\r\ncontent-length: 0\r\n\
                 connection: close\r\n\r\n"
            );
            socket.write_all(told.as_bytes()).unwrap_or_default();
        }
    });
    host
}

#[tokio::test]
async fn e16_e17_no_skill_comes_from_an_address_of_the_table() {
    // Names of tests need a resolver of the test's own; those are in the suite of the net.
    let known = |it: &&&str| it.rsplit_once('.').is_none_or(|(_, top)| top != "test");
    let table: Vec<&'static str> = REFUSED.iter().filter(known).copied().collect();
    assert!(table.len() >= 75, "{}", table.len());
    let host = redirecting(table.clone());
    let world = World::with(json!({ "security": { "private_hosts": [host] } }));
    let settings = world.settings();
    let fetcher = Fetcher::new(&settings, None);
    for (number, address) in table.iter().enumerate() {
        for from in [
            format!("http://{address}/tea/SKILL.md"),
            format!("http://{address}/tea.tar.gz"),
            format!("http://{host}/to/{number}/SKILL.md"),
        ] {
            let refused = match Source::of(&from, &settings) {
                Ok(source) => fetcher.fetch(&source).await.unwrap_err(),
                Err(refused) => refused,
            };
            // A location that is no text leads nowhere.
            let is_nowhere = refused.message.contains("not followed");
            let kind = refused.kind;
            let is_refused = matches!(kind, "blocked_address" | "bad_argument") || is_nowhere;
            assert!(is_refused, "{from} ({address}): {kind} {refused}");
        }
    }
    let metadata = World::with(json!({ "security": { "allow_private_urls": true } }));
    let settings = metadata.settings();
    for address in ["169.254.169.254", "metadata.google.internal", "[fd00:ec2::254]"] {
        let source = Source::of(&format!("http://{address}/SKILL.md"), &settings).unwrap();
        let refused = Fetcher::new(&settings, None).fetch(&source).await.unwrap_err();
        assert_eq!(refused.kind, "blocked_address", "{address}: {refused}");
    }
}
