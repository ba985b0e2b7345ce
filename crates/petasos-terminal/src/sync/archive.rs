//! The oldest archive format that every `tar` reads, written by hand: one header for each file.

use super::host::Outgoing;

const BLOCK: usize = 512;

/// The files as one archive.
pub(super) fn of(files: &[Outgoing]) -> Vec<u8> {
    let mut archive = Vec::new();
    for file in files {
        let name = file.rel.as_str().as_bytes();
        if name.len() >= 100 {
            // Long names travel as the content of an entry before the file.
            entry(&mut archive, b"././@LongLink", b'L', "644", &[name, b"\0"].concat());
        }
        let mode = if file.executable { "700" } else { "600" };
        let short = name.get(..99).unwrap_or(name);
        entry(&mut archive, short, b'0', mode, &file.bytes);
    }
    archive.extend_from_slice(&[0; BLOCK * 2]);
    archive
}

fn entry(archive: &mut Vec<u8>, name: &[u8], kind: u8, mode: &str, bytes: &[u8]) {
    let mut header = [b' '; BLOCK];
    let mut put = |from: usize, field: usize, value: &[u8]| {
        for (slot, at) in header.iter_mut().skip(from).take(field).zip(0..) {
            *slot = value.get(at).copied().unwrap_or(0);
        }
    };
    put(0, 100, name);
    put(100, 8, format!("{mode:0>7}").as_bytes());
    put(108, 8, b"0000000");
    put(116, 8, b"0000000");
    put(124, 12, format!("{:011o}", bytes.len()).as_bytes());
    put(136, 12, b"00000000000");
    put(156, 1, &[kind]);
    put(157, 100, b"");
    put(257, 8, b"ustar\x0000");
    put(265, 247, b"");
    // The sum is taken with its own field as spaces.
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    for (slot, byte) in header.iter_mut().skip(148).zip(sum.bytes()) {
        *slot = byte;
    }
    archive.extend_from_slice(&header);
    archive.extend_from_slice(bytes);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
}
