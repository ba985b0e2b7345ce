//! A name server on this machine: real packets over UDP, and an answer that may differ each time a
//! name is asked for, as an attacker's does.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The largest packet that is read.
const PACKET: usize = 1500;
const HEAD: usize = 12;
/// An IPv4 address, in the class of the Internet.
const TYPE_A: u16 = 1;
const CLASS_IN: u16 = 1;
/// Longer than a server on this machine takes on a busy one.
const PATIENCE: Duration = Duration::from_secs(30);

/// The server; it answers until the test program ends.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    asked: Arc<Mutex<HashMap<String, usize>>>,
}

impl NameServer {
    /// Begins to answer here. Given is the name and how often it was asked for before; every
    /// answer is good for no time at all.
    pub fn start(
        at: SocketAddr,
        answers: impl Fn(&str, usize) -> Vec<Ipv4Addr> + Send + 'static,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind(at)?;
        let address = socket.local_addr()?;
        let asked: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
        let counts = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut packet = [0; PACKET];
            while let Ok((size, from)) = socket.recv_from(&mut packet) {
                let Some(question) = packet.get(..size).and_then(Question::read) else { continue };
                let found = if question.kind == TYPE_A {
                    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                    let times = counts.entry(question.name.clone()).or_default();
                    let found = answers(&question.name, *times);
                    *times += 1;
                    found
                } else {
                    Vec::new()
                };
                // Whoever asked may be gone.
                socket.send_to(&question.answer(&found), from).unwrap_or_default();
            }
        });
        Ok(Self { address, asked })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often the addresses of a name were asked for.
    pub fn times(&self, name: &str) -> usize {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.get(name).copied().unwrap_or_default()
    }

    /// Asks it as a resolver does.
    pub fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut query = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.trim_end_matches('.').split('.') {
            query.extend(u8::try_from(label.len()).ok());
            query.extend(label.bytes());
        }
        query.push(0);
        query.extend([TYPE_A, CLASS_IN].iter().flat_map(|word| word.to_be_bytes()));
        socket.send_to(&query, self.address)?;
        let mut packet = [0; PACKET];
        let (size, _) = socket.recv_from(&mut packet)?;
        // The question comes back as it was; each answer is a reference to its name and 14 bytes.
        let answers = packet.get(query.len()..size).unwrap_or_default();
        let address = |record: &[u8]| <[u8; 4]>::try_from(record.get(12..16)?).ok();
        Ok(answers.chunks(16).filter_map(address).map(IpAddr::from).collect())
    }
}

/// What a packet asks for.
struct Question {
    id: [u8; 2],
    name: String,
    kind: u16,
    /// As it came.
    bytes: Vec<u8>,
}

impl Question {
    fn read(packet: &[u8]) -> Option<Self> {
        let id = [*packet.first()?, *packet.get(1)?];
        let (mut at, mut labels) = (HEAD, Vec::new());
        loop {
            let length = usize::from(*packet.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            labels.push(String::from_utf8_lossy(packet.get(at..at + length)?).to_lowercase());
            at += length;
        }
        let kind = u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]);
        let bytes = packet.get(HEAD..at + 4)?.to_vec();
        Some(Self { id, name: labels.join("."), kind, bytes })
    }

    fn answer(&self, found: &[Ipv4Addr]) -> Vec<u8> {
        let count = u8::try_from(found.len()).unwrap_or_default();
        let mut packet = self.id.to_vec();
        // A response to a wish for recursion, one question, so many answers.
        packet.extend([0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0]);
        packet.extend(&self.bytes);
        for address in found {
            packet.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
            packet.extend(address.octets());
        }
        packet
    }
}
