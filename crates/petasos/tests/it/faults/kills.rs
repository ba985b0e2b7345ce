//! `kill -9` at any moment of a turn that writes, patches, runs commands and leaves a daemon:
//! no file is torn, no process stays, the conversation goes on and is sound.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use petasos_testkit::Home;
use serde_json::json;

use super::model::{Asked, Model, Piece, calls, text};
use super::started::{Started, gone, program, ran};
use super::{Dice, figure, sized, spread};

const SIZE: usize = 200_000;
const LANES: u64 = 2;

/// Forks away from whoever started it and stays.
const DAEMON: &str = "python3 -c 'import os, time\nif os.fork(): os._exit(0)\nos.setsid()\n\
                      if os.fork(): os._exit(0)\ntime.sleep(300)'";

/// The turn of round `N` (`round N`): a file of one letter, a patch, a command, a daemon, again.
fn work(asked: &Asked) -> Vec<Piece> {
    let prompt = asked.prompt();
    let Some(round) = prompt.strip_prefix("round ").and_then(|word| word.trim().parse().ok())
    else {
        return text("fine");
    };
    let round: u8 = round;
    let letter = char::from(b'a' + round % 26).to_string();
    let whole = |name: &str| json!({ "path": name, "content": letter.repeat(SIZE) });
    let patch = json!({
        "mode": "patch",
        "patch": format!("*** Begin Patch\n*** Add File: added-{round}.txt\n+{letter}\n*** End Patch"),
    });
    let command = format!("echo {round} >> rounds; {DAEMON}");
    match asked.results() {
        0 => calls(&[("write_file", whole("one.txt"))]),
        1 => calls(&[("patch", patch), ("write_file", whole("two.txt"))]),
        3 => calls(&[("terminal", json!({ "command": command }))]),
        4 => calls(&[("write_file", whole("one.txt")), ("write_file", whole("two.txt"))]),
        _ => text("done"),
    }
}

struct Counts {
    killed: usize,
    resumed: Vec<u128>,
    ended: Vec<u128>,
    drafts: usize,
}

fn lane(seed: u64, kills: u8) -> Counts {
    let model = Model::new(work);
    let home = Home::temp();
    model.is_used_by(&home, "approvals: {mode: 'off'}\n");
    let whole = ran(&home, &["run", "round 0"]);
    assert_eq!((whole.code, whole.stdout.as_str()), (Some(0), "done\n"), "{}", whole.stderr);
    let mut dice = Dice::new(seed);
    let span = u64::try_from(whole.took.as_millis()).expect("a short turn");
    let mut counts = Counts { killed: 0, resumed: Vec::new(), ended: Vec::new(), drafts: 0 };
    for round in 1..=kills {
        let mut running = Started::new(program(&home, &["run", &format!("round {round}")]));
        std::thread::sleep(Duration::from_millis(dice.below(span)));
        counts.killed += usize::from(running.kill());
        counts.ended.push(gone(home.user(), &format!("round {round}")).as_millis());
        for name in ["one.txt", "two.txt"] {
            is_whole(&home.workspace().join(name), round);
        }
        let begun = Instant::now();
        let resumed = ran(&home, &["run", "--resume", "latest", "go on"]);
        counts.resumed.push(begun.elapsed().as_millis());
        assert_eq!(resumed.code, Some(0), "round {round}: {}", resumed.stderr);
        let sound = ran(&home, &["sessions", "verify"]);
        assert_eq!(sound.code, Some(0), "round {round}: {}{}", sound.stdout, sound.stderr);
    }
    counts.drafts = drafts(&home).len();
    ends_well(&home);
    counts
}

/// A file holds one round's letter and nothing else.
fn is_whole(path: &Path, round: u8) {
    let bytes = fs::read(path).expect("it was there before");
    let first = bytes.first().copied().unwrap_or_default();
    let is_torn = bytes.len() != SIZE || bytes.iter().any(|byte| *byte != first);
    assert!(!is_torn, "round {round}: {} is torn: {} bytes", path.display(), bytes.len());
}

fn drafts(home: &Home) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(home.workspace()).expect("the workspace").flatten();
    let is_draft = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".petasos-"))
    };
    entries.map(|entry| entry.path()).filter(is_draft).collect()
}

/// Once more without a kill: the leftovers are swept, and the records hold.
fn ends_well(home: &Home) {
    let long_ago = SystemTime::now() - Duration::from_hours(1);
    for draft in drafts(home) {
        let file = fs::File::options().write(true).open(&draft).expect("a draft");
        file.set_modified(long_ago).expect("its time");
    }
    let last = ran(home, &["run", "round 255"]);
    assert_eq!(last.code, Some(0), "{}", last.stderr);
    assert_eq!(drafts(home), Vec::<std::path::PathBuf>::new(), "drafts stay in the workspace");
    let log = ran(home, &["approval", "log", "--verify"]);
    assert_eq!(log.code, Some(0), "{}{}", log.stdout, log.stderr);
    gone(home.user(), "the end");
}

#[test]
fn a_turn_that_is_killed_at_any_moment_loses_and_leaves_nothing() {
    let kills: u8 = sized(10, 250);
    let lanes: Vec<_> =
        (0..LANES).map(|seed| std::thread::spawn(move || lane(seed + 42, kills))).collect();
    let mut all = Counts { killed: 0, resumed: Vec::new(), ended: Vec::new(), drafts: 0 };
    for lane in lanes {
        let counts = lane.join().expect("a lane");
        all.killed += counts.killed;
        all.drafts += counts.drafts;
        all.resumed.extend(counts.resumed);
        all.ended.extend(counts.ended);
    }
    figure(
        "kill -9",
        &format!(
            "{} rounds, {} killed alive; torn files 0; processes gone {}; resumed {}; \
             every conversation sound; {} drafts, swept later",
            all.resumed.len(),
            all.killed,
            spread(all.ended),
            spread(all.resumed),
            all.drafts,
        ),
    );
    assert!(all.killed * 2 > usize::from(kills), "most kills came too late: {}", all.killed);
}
