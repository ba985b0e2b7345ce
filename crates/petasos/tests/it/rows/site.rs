//! A web site of the walk's own: two pages, a search service, one that films, accounts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

const PAGE: &str = "<!doctype html><title>Hats</title><h1>Hats</h1><a href='/two'>Two</a>\
    <label>Name <input id=n></label><p>Felt hats are brushed against the clock, and straw hats are \
    not brushed at all.</p><img src='/x.png' alt='a hat' width=9 height=9>\
    <div style='height:3000px'></div>";
/// The beginning of an MP4 file.
const FILM: &[u8] = b"\0\0\0\x18ftypisom\0\0\0\0isommp42";

/// Begins to listen; gives its address. It lives as long as the test program.
pub(super) fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let own = address.clone();
    std::thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            let own = own.clone();
            // A browser that went away does not read its answer.
            std::thread::spawn(move || serve(peer, &own).unwrap_or_default());
        }
    });
    address
}

fn serve(peer: TcpStream, own: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(peer);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let path = first.split_whitespace().nth(1).unwrap_or("/");
    let (kind, body) = answer(path.split('?').next().unwrap_or("/"), own);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let peer = reader.get_mut();
    peer.write_all(head.as_bytes())?;
    peer.write_all(&body)
}

fn answer(path: &str, own: &str) -> (&'static str, Vec<u8>) {
    let told = |value: Value| ("application/json", value.to_string().into_bytes());
    match path {
        "/search" => told(json!({ "query": "felt hats", "results": [
            { "title": "Hats", "url": "https://hats.example/", "content": "About felt", "score": 1.0 }] })),
        "/v1/videos/job-1" => told(json!({ "status": "done",
            "video": { "url": format!("http://{own}/files/a.mp4"), "duration": 5.0 } })),
        "/v1/videos/generations" | "/v1/videos/edits" | "/v1/videos/extensions" => {
            told(json!({ "request_id": "job-1" }))
        }
        "/files/a.mp4" => ("video/mp4", FILM.to_vec()),
        "/api/token" => told(json!({ "access_token": "token-1", "token_type": "Bearer",
            "refresh_token": "refresh-1", "expires_in": 3600, "scope": "user-library-read" })),
        _ => ("text/html", PAGE.as_bytes().to_vec()),
    }
}
