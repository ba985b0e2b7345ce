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

/// A host that publishes these files.
fn publishing(files: Vec<(&'static str, Vec<u8>)>) -> String {
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
            let path = first.split(' ').nth(1).unwrap_or_default();
            let found = files.iter().find(|(known, _)| *known == path);
            let (status, body) = found.map_or((404, Vec::new()), |(_, body)| (200, body.clone()));
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            socket.write_all(&[head.into_bytes(), body].concat()).unwrap_or_default();
        }
    });
    host
}

/// E6.5: a host's own list, a page and an archive over the web; a list that leads elsewhere, names
/// what is not there or far too much is refused.
#[tokio::test]
async fn s120_skills_come_from_a_hosts_list_a_page_and_an_archive() {
    let main = b"---\nname: tea\ndescription: Brews tea\n---\nBoil.\n".to_vec();
    let many: Vec<String> = (0..80).map(|number| format!("references/{number}.md")).collect();
    let list = json!({ "skills": [
        { "name": "tea", "description": "Brews tea", "files": ["SKILL.md", "references/a.md"] },
        { "name": "climbs", "files": ["SKILL.md", "../../secret"] },
        { "name": "lacks", "files": ["SKILL.md"] },
        { "name": "many", "files": many },
    ] });
    let mut files = vec![
        ("/.well-known/skills/index.json", list.to_string().into_bytes()),
        ("/.well-known/skills/tea/SKILL.md", main.clone()),
        ("/.well-known/skills/tea/references/a.md", b"four minutes".to_vec()),
        ("/.well-known/skills/climbs/SKILL.md", main.clone()),
        ("/tea/SKILL.md", main.clone()),
        ("/tea.tar", crate::hub::tarred(&[("tea/SKILL.md", b'0', &main)])),
    ];
    for name in many {
        let path = format!("/.well-known/skills/many/{name}");
        files.push((Box::leak(path.into_boxed_str()), b"x".to_vec()));
    }
    let host = publishing(files);
    let world = World::with(json!({ "security": { "private_hosts": [host] } }));
    let settings = world.settings();
    let fetcher = Fetcher::new(&settings, None);
    let fetch = async |from: &str| {
        let source = Source::of(from, &settings).unwrap();
        fetcher.fetch(&source).await
    };
    let tea = fetch(&format!("well-known:http://{host}/tea")).await.unwrap();
    assert_eq!((tea.folder.as_str(), tea.files.len()), ("tea", 2));
    for from in [format!("http://{host}/tea/SKILL.md"), format!("http://{host}/tea.tar")] {
        let package = fetch(&from).await.unwrap();
        assert_eq!((package.folder.as_str(), &package.files["SKILL.md"]), ("tea", &main), "{from}");
    }
    for (name, kind) in
        [("climbs", "denied"), ("lacks", "not_found"), ("many", "too_large"), ("no", "not_found")]
    {
        let refused = fetch(&format!("well-known:http://{host}/{name}")).await.unwrap_err();
        assert_eq!(refused.kind, kind, "{name}: {refused}");
    }
    assert_eq!(fetch(&format!("well-known:http://{host}")).await.unwrap_err().kind, "ambiguous");
    let hits = fetcher.search("brews", &[format!("well-known:http://{host}")]).await;
    let names: Vec<&str> = hits.found.iter().map(|hit| hit.name.as_str()).collect();
    assert_eq!(names, ["tea"], "{hits:?}");
    // What was found installs by the words that it is shown with.
    assert!(fetch(&hits.found[0].identifier).await.is_ok(), "{hits:?}");
    assert!(fetch("official/plan").await.unwrap().files.contains_key("SKILL.md"));
    assert_eq!(fetch("official/nothing").await.unwrap_err().kind, "not_found");
}
