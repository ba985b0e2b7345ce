//! Damaged files of the home: told, repaired, and as little lost as the damage allows.

use std::fs;
use std::time::Duration;

use petasos_testkit::Home;
use serde_json::json;

use super::model::{Asked, Model, Piece, calls, text};
use super::started::{Started, ran, shell};
use super::{Dice, figure, sized};

const CONVERSATIONS: usize = 8;
const PAGE: usize = 4096;

fn work(asked: &Asked) -> Vec<Piece> {
    match asked.results() {
        0 => calls(&[("terminal", json!({ "command": "seq 1 900" }))]),
        _ => text(&"some words of the answer ".repeat(40)),
    }
}

/// The bytes of a database with some conversations, its log folded into it.
fn database(model: &Model) -> (Vec<u8>, usize) {
    let home = Home::temp();
    model.is_used_by(&home, "approvals: {mode: 'off'}\n");
    for number in 0..CONVERSATIONS {
        let ended = ran(&home, &["run", &format!("conversation {number} about lamps")]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let file = home.agent().join("petasos.db");
    let database = rusqlite::Connection::open(&file).expect("a database");
    database.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap_or_default();
    let messages: i64 =
        database.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).expect("a count");
    drop(database);
    (fs::read(file).expect("a file"), usize::try_from(messages).expect("a count"))
}

/// One way to damage a file.
fn damaged(bytes: &[u8], number: usize, dice: &mut Dice) -> (String, Vec<u8>) {
    let mut bytes = bytes.to_vec();
    let pages = bytes.len() / PAGE;
    let at = |dice: &mut Dice, end: usize| {
        usize::try_from(dice.below(u64::try_from(end).expect("a length"))).expect("a place")
    };
    // The first page is the schema, which a test of its own breaks.
    let page = 1 + at(dice, pages - 1);
    let range = page * PAGE..(page + 1) * PAGE;
    let what = match number % 4 {
        0 => {
            bytes[range].fill(0);
            format!("page {page} zeroed")
        }
        1 => {
            bytes[range].fill(0xff);
            format!("page {page} overwritten")
        }
        2 => {
            bytes.truncate((pages - 1 - at(dice, 3)) * PAGE);
            format!("cut to {} of {pages} pages", bytes.len() / PAGE)
        }
        _ => {
            for _ in 0..40 {
                let place = range.start + at(dice, PAGE);
                bytes[place] = u8::try_from(dice.below(256)).expect("a byte");
            }
            format!("page {page} with 40 wrong bytes")
        }
    };
    (what, bytes)
}

#[test]
fn a_damaged_database_is_repaired_and_goes_on() {
    let model = Model::new(work);
    let (bytes, messages) = database(&model);
    let mut dice = Dice::new(11);
    let (mut noticed, mut least, mut all) = (0, messages, 0);
    let damages = sized(8, 60);
    for number in 0..damages {
        let (what, broken) = damaged(&bytes, number, &mut dice);
        let home = Home::temp();
        model.is_used_by(&home, "approvals: {mode: 'off'}\n");
        let file = home.write(".petasos/petasos.db", broken);
        noticed += usize::from(ran(&home, &["sessions", "verify"]).code != Some(0));
        let repaired = ran(&home, &["sessions", "repair"]);
        assert_eq!(repaired.code, Some(0), "{what}: {}{}", repaired.stdout, repaired.stderr);
        let sound = ran(&home, &["sessions", "verify"]);
        assert_eq!(sound.code, Some(0), "{what}: {}{}", sound.stdout, sound.stderr);
        let turn = ran(&home, &["run", "one more"]);
        assert_eq!(turn.code, Some(0), "{what}: {}", turn.stderr);
        let database = rusqlite::Connection::open(&file).expect("a database");
        let kept: i64 = database
            .query_row("SELECT count(*) FROM messages", [], |row| row.get(0))
            .expect("a count");
        // The turn above added four.
        let kept = usize::try_from(kept).expect("a count").saturating_sub(4);
        all += kept;
        least = least.min(kept);
    }
    assert!(all * 10 >= messages * damages * 7, "{all} of {} rows", messages * damages);
    figure(
        "damaged databases",
        &format!(
            "{damages} damages, {noticed} noticed by verify, all sound and used after repair; of \
             {messages} messages {} kept on average, {least} at worst",
            all / damages
        ),
    );
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_not_touched() {
    let model = Model::new(work);
    let home = Home::temp();
    model.is_used_by(&home, "");
    assert_eq!(ran(&home, &["run", "hello"]).code, Some(0));
    let file = home.agent().join("petasos.db");
    let database = rusqlite::Connection::open(&file).expect("a database");
    database.pragma_update(None, "user_version", 999).expect("a version");
    drop(database);
    let before = fs::read(&file).expect("a file");
    for words in [&["run", "hello"][..], &["sessions", "list"], &["sessions", "verify"]] {
        let ended = ran(&home, words);
        assert_eq!(ended.code, Some(1), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("update"), "{words:?}: {}", ended.stderr);
    }
    let doctor = ran(&home, &["doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("999"), "{}", doctor.stdout);
    assert_eq!(fs::read(&file).expect("a file"), before, "it was touched");
}

#[test]
fn torn_files_of_the_home_are_told_or_set_aside() {
    let model = Model::new(work);
    let home = Home::temp();
    model.is_used_by(&home, "approvals: {mode: 'off'}\n");
    let line = "petasos run hello && ls ~/.petasos";
    let first = Started::new(shell(&home, line)).end(Duration::from_mins(1));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    home.write(".petasos/jobs/processes.json", "{\"jobs\": [{\"id\"");
    home.write(".petasos/processes.json", "{\"jobs\": [{\"id\"");
    for words in [&["ps"][..], &["run", "hello"], &["ps"]] {
        let ended = ran(&home, words);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    }
    let config = fs::read_to_string(home.agent().join("config.yaml")).expect("the file");
    home.write(".petasos/config.yaml", format!("{config}agent: {{max_turns: [1, \n"));
    let torn = ran(&home, &["run", "hello"]);
    assert_eq!(torn.code, Some(1), "{}", torn.stderr);
    assert!(torn.stderr.contains("config.yaml"), "{}", torn.stderr);
}
