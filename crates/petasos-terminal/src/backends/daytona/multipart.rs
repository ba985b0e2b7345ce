//! Forms with files, as the vendor's file calls take and give them.

use crate::ids;

/// One part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The field's name.
    pub(super) name: String,
    /// What it holds.
    pub(super) body: Vec<u8>,
}

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

/// The parts of an answer. The mark is taken from its first line, so that a proxy that rewrites
/// headers does no harm; a part that names its length is cut by it.
pub(super) fn decode(body: &[u8]) -> Result<Vec<Part>, String> {
    let end = find(body, b"\r\n").ok_or("it has no first line")?;
    let mark = body.get(..end).filter(|mark| mark.starts_with(b"--")).ok_or("it is no form")?;
    let mut parts = Vec::new();
    let mut rest = body.get(end + 2..).unwrap_or_default();
    loop {
        let head_end = find(rest, b"\r\n\r\n").ok_or("a part has no head")?;
        let head = String::from_utf8_lossy(rest.get(..head_end).unwrap_or_default()).into_owned();
        let content = rest.get(head_end + 4..).unwrap_or_default();
        let length = match stated(&head) {
            Some(length) => length,
            None => find(content, &[b"\r\n", mark].concat()).ok_or("a part has no end")?,
        };
        let bytes = content.get(..length).ok_or("a part is cut")?;
        parts.push(Part { name: field(&head), body: bytes.to_vec() });
        let after = content.get(length..).unwrap_or_default();
        let after = after.strip_prefix(b"\r\n").unwrap_or(after);
        let after = after.strip_prefix(mark).ok_or("a part does not end where it says")?;
        if after.starts_with(b"--") {
            return Ok(parts);
        }
        rest = after.strip_prefix(b"\r\n").ok_or("a part begins in the middle")?;
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}

fn stated(head: &str) -> Option<usize> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })
}

fn field(head: &str) -> String {
    let after = head.split_once(" name=\"").map(|(_, after)| after);
    after.and_then(|after| after.split_once('"')).map(|(name, _)| name.to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_whole_with_and_without_a_length() {
        let body = b"--M\r\nContent-Disposition: form-data; name=\"file\"; filename=\"/a\"\r\nContent-Length: 6\r\n\r\na\r\n--M\r\n--M\r\nContent-Disposition: form-data; name=\"error\"\r\n\r\nno\r\n--M--\r\n";
        let parts = decode(body).unwrap();
        assert_eq!(parts[0], Part { name: "file".into(), body: b"a\r\n--M".to_vec() });
        assert_eq!(parts[1], Part { name: "error".into(), body: b"no".to_vec() });
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for text in ["", "garbage", "--M\r\n", "--M\r\nA: b\r\n\r\nx", "{\"message\":\"no\"}\r\n"] {
            assert!(decode(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_upload_names_each_file() {
        let (kind, body) = encode(&[("/a", b"1"), ("/b", b"\0")]);
        assert!(kind.starts_with("multipart/form-data; boundary=petasos-"));
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains("files[1].path\"\r\n\r\n/b\r\n"));
    }
}
