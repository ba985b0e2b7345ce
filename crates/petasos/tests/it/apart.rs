//! Files that strangers made, read by a further process of the program.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use petasos_testkit::{Home, Program};
use serde_json::json;

/// One page with these words, in a file that every reader opens.
fn pdf(words: &str) -> Vec<u8> {
    let drawn = format!("BT /F 12 Tf 14 TL 50 800 Td ({words}) Tj T* ET");
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[4 0 R]/Count 1>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>\
         /Contents 5 0 R>>"
            .to_owned(),
        format!("<</Length {}>>\nstream\n{drawn}\nendstream", drawn.len()),
    ];
    let (mut file, mut places) = ("%PDF-1.5\n".to_owned(), Vec::new());
    for (at, object) in objects.iter().enumerate() {
        places.push(format!("{:010} 00000 n \n", file.len()));
        file = format!("{file}{} 0 obj\n{object}\nendobj\n", at + 1);
    }
    let (table, count, places) = (file.len(), objects.len() + 1, places.concat());
    let trailer = format!("trailer\n<</Size {count}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n");
    file = format!("{file}xref\n0 {count}\n0000000000 65535 f \n{places}{trailer}");
    file.into_bytes()
}

fn serve(file: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/a.pdf", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            BufReader::new(&socket).read_line(&mut String::new()).unwrap_or_default();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nConnection: close\r\n";
            let head = format!("{head}Content-Length: {}\r\n\r\n", file.len());
            socket.write_all(&[head.into_bytes(), file.clone()].concat()).unwrap_or_default();
        }
    });
    url
}

// E5.3: the process is this very program, whatever its home and settings are.
#[test]
fn a_pdf_is_read_by_a_further_process_of_the_program() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "security:\n  private_hosts: [127.0.0.1]\n");
    let program = Program::new(env!("CARGO_BIN_EXE_petasos"), &home);
    for (file, told) in [
        (pdf("The bridge over the river was opened on Monday."), "opened on Monday."),
        (pdf(""), "scanned"),
        (b"%PDF-1.5\nnothing else".to_vec(), "the PDF is broken"),
    ] {
        let ask = json!({ "urls": [serve(file)] }).to_string();
        let done = program.run(&["tools", "call", "web_extract", &ask]);
        assert!(done.stdout.contains(told), "{told}: {}{}", done.stdout, done.stderr);
    }
}
