//! Two processes write the same list while they are killed at random: nothing acknowledged is lost.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petasos_config::{edit, load};

use crate::Setting;

const ITEMS_EACH: usize = 500;
const KEY: &str = "command_allowlist";
const BEFORE: &str = "\
# My own words, which nobody may touch.
terminal:
  timeout: 5 # seconds
# Answers to \"always\".
command_allowlist: [] # starts empty
# The end.
";

/// Not a test of its own: what the processes of the test below run. It reads its orders from the
/// standard input and acknowledges every text that is on disk.
#[test]
#[ignore = "helper process: runs only as a child of the test below"]
fn writer() {
    let mut orders = std::io::stdin().lines();
    let mut order = || orders.next().unwrap().unwrap();
    let file = PathBuf::from(order());
    let name = order();
    let first: usize = order().parse().unwrap();
    let mut out = std::io::stdout();
    for number in first..ITEMS_EACH {
        edit::append_to_list(&file, KEY, &format!("{name} {number}")).unwrap();
        writeln!(out, "\nsaved {number}").unwrap();
        out.flush().unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the test is about processes being killed")]
fn start(file: &Path, name: &str, first: usize) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::writer", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let orders = format!("{}\n{name}\n{first}\n", file.display());
    child.stdin.take().unwrap().write_all(orders.as_bytes()).unwrap();
    child
}

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}

/// Restarts a writer from its last acknowledgement until it is through; returns how often it was
/// killed.
fn drive(file: &Path, name: &str) -> usize {
    let mut next = 0;
    let mut kills = 0;
    while next < ITEMS_EACH {
        let mut child = start(file, name, next);
        let mut patience = 1 + random(40);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            let Some(number) = line.strip_prefix("saved ") else { continue };
            next = number.parse::<usize>().unwrap() + 1;
            patience -= 1;
            if patience == 0 {
                // Any moment of the next write will do; this is not waiting for anything.
                std::thread::sleep(Duration::from_micros(random(8000)));
                child.kill().unwrap();
                kills += 1;
                patience = u64::MAX;
            }
        }
        child.wait().unwrap();
    }
    kills
}

#[test]
fn two_writers_killed_at_random_lose_nothing_and_disturb_nothing() {
    let setting = Setting::new().user(BEFORE);
    let file = setting.config();
    let done = AtomicBool::new(false);
    let (kills, reads) = std::thread::scope(|scope| {
        let writers = ["one", "two"].map(|name| {
            scope.spawn({
                let file = file.clone();
                move || drive(&file, name)
            })
        });
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !done.load(Ordering::Acquire) {
                load(&setting.inputs()).unwrap();
                reads += 1;
            }
            reads
        });
        let kills: usize = writers.map(|writer| writer.join().unwrap()).iter().sum();
        done.store(true, Ordering::Release);
        (kills, reader.join().unwrap())
    });
    println!("{kills} kills, {reads} reads in between");

    let settings = load(&setting.inputs()).unwrap();
    let saved = settings.names(KEY).unwrap();
    assert_eq!(saved.len(), 2 * ITEMS_EACH);
    for name in ["one", "two"] {
        for number in 0..ITEMS_EACH {
            assert!(saved.contains(&format!("{name} {number}")), "{name} {number} is lost");
        }
    }
    let text = std::fs::read_to_string(&file).unwrap();
    let kept: String =
        text.split_inclusive('\n').filter(|line| !line.starts_with("  - ")).collect();
    assert_eq!(kept, BEFORE.replace(": [] #", ": #"));
    let leftovers = std::fs::read_dir(file.parent().unwrap()).unwrap().count();
    assert!(leftovers <= 3, "only the file, its lock, and at most one half-written copy stay");
    assert!(kills > 10, "{kills} kills are too few to mean anything");
}
