//! A connection to the bus of the desktop session: found in the snapshot, one call at a time.
//!
//! Blocking on purpose: callers wait on a thread of their own with a deadline around it, and every
//! read and write has the same deadline.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use petasos_contract::Settings;

use super::wire::{Answer, Call, Reader, Writer};
use super::{Absent, WITHIN};

/// Where the session's bus listens, as the snapshot says; `None` where there is no session.
pub(super) fn address(settings: &Settings) -> Option<String> {
    let text = |name: &str| {
        let text = settings.variable(name)?.value.expose().trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    text("DBUS_SESSION_BUS_ADDRESS").or_else(|| {
        // What the bus of a systemd user session is called when nobody exported its address.
        let usual = Path::new(&text("XDG_RUNTIME_DIR")?).join("bus");
        usual.exists().then(|| format!("unix:path={}", usual.display()))
    })
}

/// A connection.
#[derive(Debug)]
pub(super) struct Bus {
    stream: UnixStream,
    serial: u32,
}

impl Bus {
    /// Connects to the first address that answers.
    pub(super) fn open(addresses: &str) -> Result<Self, Absent> {
        let mut last = Absent::because("the address of the session bus is not understood");
        for address in addresses.split(';').filter(|address| !address.is_empty()) {
            match connect(address) {
                Ok(stream) => return Self::greet(stream),
                Err(absent) => last = absent,
            }
        }
        Err(last)
    }

    fn greet(mut stream: UnixStream) -> Result<Self, Absent> {
        stream.set_read_timeout(Some(WITHIN)).map_err(|error| broken(&error))?;
        stream.set_write_timeout(Some(WITHIN)).map_err(|error| broken(&error))?;
        // The bus takes the identity from the socket itself, so that none has to be claimed.
        stream.write_all(b"\0AUTH EXTERNAL\r\n").map_err(|error| broken(&error))?;
        let mut said = line(&mut stream)?;
        if said.starts_with("DATA") {
            stream.write_all(b"DATA\r\n").map_err(|error| broken(&error))?;
            said = line(&mut stream)?;
        }
        if !said.starts_with("OK ") {
            return Err(Absent::because(format!("the session bus refuses us: {said}")));
        }
        stream.write_all(b"BEGIN\r\n").map_err(|error| broken(&error))?;
        let mut bus = Self { stream, serial: 0 };
        let hello = Call {
            to: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "Hello",
            signature: "",
        };
        bus.call(&hello, Writer::default())?;
        Ok(bus)
    }

    /// Makes a call and waits for its answer.
    pub(super) fn call(&mut self, call: &Call<'_>, body: Writer) -> Result<Answer, Absent> {
        self.serial += 1;
        self.stream.write_all(&call.message(self.serial, body)).map_err(|error| broken(&error))?;
        loop {
            let mut head = [0; 16];
            self.stream.read_exact(&mut head).map_err(|error| broken(&error))?;
            let (fields, body) = Answer::rest(&head)?;
            let (mut fields, mut body) = (vec![0; fields], vec![0; body]);
            self.stream.read_exact(&mut fields).map_err(|error| broken(&error))?;
            self.stream.read_exact(&mut body).map_err(|error| broken(&error))?;
            // Signals and answers to others are of no interest.
            let Some(answer) = Answer::read(&head, &fields, body)? else { continue };
            if answer.serial != Some(self.serial) {
                continue;
            }
            return match &answer.error {
                None => Ok(answer),
                Some(name) => Err(refused(name, &mut answer.values())),
            };
        }
    }
}

fn connect(address: &str) -> Result<UnixStream, Absent> {
    let unknown =
        || Absent::because(format!("the session bus is at `{address}`, which is no socket"));
    let pairs = address.strip_prefix("unix:").ok_or_else(unknown)?;
    let value = |key: &str| {
        pairs.split(',').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')).map(unescaped)
    };
    if let Some(path) = value("path") {
        return UnixStream::connect(path).map_err(|error| broken(&error));
    }
    #[cfg(target_os = "linux")]
    if let Some(name) = value("abstract") {
        use std::os::linux::net::SocketAddrExt as _;
        let place = std::os::unix::net::SocketAddr::from_abstract_name(name)
            .map_err(|error| broken(&error))?;
        return UnixStream::connect_addr(&place).map_err(|error| broken(&error));
    }
    Err(unknown())
}

/// Addresses spell unusual bytes as `%41`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let pair = if byte == b'%' { rest.next().zip(rest.next()) } else { None };
        let spelled = pair.and_then(|(high, low)| Some(digit(high)? * 16 + digit(low)?));
        bytes.push(spelled.unwrap_or(byte));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn line(stream: &mut UnixStream) -> Result<String, Absent> {
    const LINE_MAX: usize = 512;
    let mut said = Vec::new();
    while !said.ends_with(b"\r\n") && said.len() < LINE_MAX {
        let mut one = [0];
        stream.read_exact(&mut one).map_err(|error| broken(&error))?;
        said.extend(one);
    }
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

fn refused(name: &str, values: &mut Reader<'_>) -> Absent {
    match name.rsplit('.').next().unwrap_or(name) {
        "ServiceUnknown" | "NameHasNoOwner" => {
            Absent::because("no service for secrets is running in this session")
        }
        "IsLocked" => Absent::because("it is locked"),
        // The text is a courtesy that some services leave out.
        _ => match values.text() {
            Ok(text) => Absent::because(format!("{text} ({name})")),
            Err(_) => Absent::because(name),
        },
    }
}

fn broken(error: &std::io::Error) -> Absent {
    Absent::because(format!("the session bus does not answer: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_spelled_in_parts_and_escapes() {
        assert_eq!(unescaped("/run/a%2db%20c"), "/run/a-b c");
        assert_eq!(unescaped("/run/100%"), "/run/100%");
        for wrong in ["tcp:host=localhost,port=1", "unix:guid=1", "unix:path=/nowhere/bus", ""] {
            let absent = Bus::open(wrong).unwrap_err();
            assert!(absent.why.contains("session bus"), "{absent}");
        }
    }
}
