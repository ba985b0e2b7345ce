//! Many programs on one home: nothing is mixed, nothing is lost, nobody is told "locked".

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::model::{Asked, Model, Piece, calls, text};
use super::started::{Started, gone, program, ran};
use super::{Dice, figure, is_long, sized, spread};

const PROGRAMS: usize = 8;

/// `word W`: writes a line with it, reads it back, and says it.
fn work(asked: &Asked) -> Vec<Piece> {
    let prompt = asked.prompt();
    let Some(word) = prompt.strip_prefix("word ").map(str::trim) else { return text("fine") };
    match asked.results() {
        0 => calls(&[("terminal", json!({ "command": format!("echo {word} >> shared") }))]),
        1 => calls(&[("write_file", json!({ "path": format!("{word}.txt"), "content": word }))]),
        2 => calls(&[("read_file", json!({ "path": format!("{word}.txt") }))]),
        _ => text(&format!("said {word}")),
    }
}

#[test]
fn eight_programs_on_one_home_do_not_touch_each_other() {
    let model = Model::new(work);
    let home = Home::temp();
    model.is_used_by(&home, "approvals: {mode: 'off'}\n");
    let runs: usize = sized(2, 20);
    let times = std::thread::scope(|scope| {
        let one = |lane: usize| {
            let home = &home;
            scope.spawn(move || {
                let mut times = Vec::new();
                for number in 0..runs {
                    let word = format!("w{lane}x{number}");
                    let begun = Instant::now();
                    let ended = ran(home, &["run", &format!("word {word}")]);
                    times.push(begun.elapsed().as_millis());
                    let told = (ended.code, ended.stdout);
                    assert_eq!(told, (Some(0), format!("said {word}\n")), "{}", ended.stderr);
                    assert!(!ended.stderr.contains("lock"), "{}", ended.stderr);
                }
                times
            })
        };
        let lanes: Vec<_> = (0..PROGRAMS).map(one).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("a lane")).collect::<Vec<_>>()
    });
    let lines = fs::read_to_string(home.workspace().join("shared")).expect("the shared file");
    assert_eq!(lines.lines().collect::<BTreeSet<_>>().len(), PROGRAMS * runs, "{lines}");
    not_mixed(&home, PROGRAMS * runs);
    assert_eq!(ran(&home, &["sessions", "verify"]).code, Some(0));
    figure(
        "8 programs, one home",
        &format!("{} runs right, none mixed, none refused; {}", times.len(), spread(times)),
    );
}

/// Every conversation speaks of one word only.
fn not_mixed(home: &Home, count: usize) {
    let exported = ran(home, &["sessions", "export", "--all"]).stdout;
    let mut sessions: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for line in exported.lines() {
        let value: Value = serde_json::from_str(line).expect("JSON lines");
        if value["type"] == "session" {
            sessions.push((0, BTreeSet::new()));
            continue;
        }
        let (messages, words) = sessions.last_mut().expect("a session first");
        *messages += 1;
        let is_word = |word: &&str| {
            let rest = word.strip_prefix('w').and_then(|rest| rest.split_once('x'));
            rest.is_some_and(|(a, b)| a.parse::<u8>().is_ok() && b.parse::<u8>().is_ok())
        };
        let all = line.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.extend(all.filter(is_word).map(str::to_owned));
    }
    assert_eq!(sessions.len(), count);
    for (messages, words) in sessions {
        assert_eq!((messages, words.len()), (8, 1), "{words:?}");
    }
}

#[test]
fn one_conversation_is_continued_by_one_program_at_a_time() {
    let model = Model::new(work);
    let home = Home::temp();
    model.is_used_by(&home, "approvals: {mode: 'off'}\n");
    assert_eq!(ran(&home, &["run", "word w0x0"]).code, Some(0));
    let rounds = sized(1, 6);
    let (mut won, mut refused) = (0, 0);
    for round in 0..rounds {
        std::thread::scope(|scope| {
            let one = |lane: usize| {
                let home = &home;
                let prompt = format!("word w{lane}x{round}");
                scope.spawn(move || ran(home, &["run", "--resume", "latest", &prompt]))
            };
            let lanes: Vec<_> = (1..=PROGRAMS).map(one).collect();
            for lane in lanes {
                let ended = lane.join().expect("a lane");
                if ended.code == Some(0) {
                    won += 1;
                    continue;
                }
                refused += 1;
                assert!(ended.stderr.contains("session"), "{}", ended.stderr);
            }
        });
    }
    assert!(won >= rounds, "nobody went on");
    let sound = ran(&home, &["sessions", "verify"]);
    assert_eq!(sound.code, Some(0), "{}{}", sound.stdout, sound.stderr);
    figure(
        "8 programs, one conversation",
        &format!("{won} went on, {refused} told to wait; sound"),
    );
}

#[test]
fn a_stopped_program_does_not_stop_the_others() {
    let model = Model::new(work);
    let home = Home::temp();
    model.is_used_by(&home, "approvals: {mode: 'off'}\n");
    let first = ran(&home, &["run", "word w0x0"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let span = u64::try_from(first.took.as_millis()).expect("a short turn");
    let mut dice = Dice::new(7);
    let (mut times, mut told) = (Vec::new(), 0);
    for round in 0..sized(3, 20) {
        let stopped = Started::new(program(&home, &["run", &format!("word w1x{round}")]));
        std::thread::sleep(Duration::from_millis(dice.below(span)));
        signal(&stopped, rustix::process::Signal::STOP);
        let begun = Instant::now();
        let mut other = Started::new(program(&home, &["run", &format!("word w2x{round}")]));
        // In the short form it goes on soon, and the other must have waited for it.
        while other.child.try_wait().expect("a child").is_none()
            && begun.elapsed() < sized(Duration::from_secs(2), Duration::from_mins(3))
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(&stopped, rustix::process::Signal::CONT);
        let other = other.end(Duration::from_mins(2));
        times.push(begun.elapsed().as_millis());
        if other.code != Some(0) {
            told += 1;
            let is_told = other.stderr.contains("another process");
            assert!(is_long() && is_told, "round {round}: {}", other.stderr);
        }
        let ended = stopped.end(Duration::from_mins(3));
        assert_eq!(ended.code, Some(0), "round {round}: {}", ended.stderr);
    }
    assert_eq!(ran(&home, &["sessions", "verify"]).code, Some(0));
    gone(home.user(), "stopped programs");
    figure("a stopped program beside another", &format!("{}; {told} told why not", spread(times)));
}

fn signal(running: &Started, signal: rustix::process::Signal) {
    let pid = i32::try_from(running.pid()).expect("a process id");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
    // One that has ended already needs no signal.
    rustix::process::kill_process(pid, signal).unwrap_or_default();
}
