//! Names for records and grants: short, random, safe in a file name.

/// Twelve letters and digits.
pub(crate) fn fresh() -> String {
    let mut bytes = [0_u8; 6];
    if getrandom::fill(&mut bytes).is_err() {
        // Without the system's source the time is unlike enough: names only have to differ.
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = since.map(|since| since.as_nanos()).unwrap_or_default().to_le_bytes();
        for (byte, nano) in bytes.iter_mut().zip(nanos) {
            *byte = nano;
        }
    }
    hex(&bytes)
}

/// Bytes as lower-case digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a text cannot fail.
        if write!(text, "{byte:02x}").is_err() {
            text.push_str("??");
        }
        text
    })
}
