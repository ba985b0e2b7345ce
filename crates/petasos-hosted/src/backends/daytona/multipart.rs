//! Forms with files, as the vendor's upload takes them.

use petasos_terminal::ids;

/// The content type and the body of an upload.
pub(super) fn encode(files: &[(&str, &[u8])]) -> (String, Vec<u8>) {
    let mark = format!("petasos-{}", ids::hex(16));
    let size: usize = files.iter().map(|(path, bytes)| path.len() + bytes.len() + 400).sum();
    let mut body = Vec::with_capacity(size);
    for (at, (path, bytes)) in files.iter().enumerate() {
        let head = format!(
            "--{mark}\r\nContent-Disposition: form-data; name=\"files[{at}].path\"\r\n\r\n{path}\r\n\
             --{mark}\r\nContent-Disposition: form-data; name=\"files[{at}].file\"; filename=\"file\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{mark}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={mark}"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_names_each_file() {
        let (kind, body) = encode(&[("/a", b"1"), ("/b", b"\0")]);
        assert!(kind.starts_with("multipart/form-data; boundary=petasos-"));
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains("files[1].path\"\r\n\r\n/b\r\n"));
    }
}
