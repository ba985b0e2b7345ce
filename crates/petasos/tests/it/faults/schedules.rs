//! Many jobs due at once in two real schedulers that are killed again and again: each due time runs
//! once or is reported as unknown, none is missing, and whoever chats meanwhile is answered.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use petasos_testkit::{Home, Program};
use serde_json::{Value, json};

use super::model::{Model, Piece, call, event, stream, text};
use super::started::{PROGRAM, Started, program};
use super::{Dice, figure, sized};
use crate::serve::{KEY, Server};

const PATIENCE: Duration = Duration::from_mins(5);

/// A moment as people write it.
fn iso(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from a 1 March, so that the odd one of February is the last of its year.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A home with so many jobs that are due in a moment; each writes its number into a file.
fn home(count: usize, ahead: Duration) -> (Home, std::path::PathBuf) {
    let home = Home::temp();
    let list = home.workspace().join("list");
    let at = SystemTime::now() + ahead;
    let at = iso(at.duration_since(SystemTime::UNIX_EPOCH).expect("a clock").as_secs());
    let jobs: Vec<Value> = (0..count)
        .map(|number| {
            let script = format!("job{number}.sh");
            let line = format!("echo {number} >> '{}'\n", list.display());
            home.write(&format!(".petasos/scripts/{script}"), line);
            json!({
                "id": format!("{number:012x}"), "name": format!("job {number}"), "script": script,
                "no_agent": true, "deliver": "local", "enabled": true,
                "schedule": { "kind": "once", "run_at": at },
            })
        })
        .collect();
    home.write("jobs.json", json!({ "jobs": jobs }).to_string());
    let file = home.user().join("jobs.json").display().to_string();
    let taken = Program::new(PROGRAM, &home).run(&["cron", "import", &file]);
    assert_eq!(taken.code, Some(0), "{} {}", taken.stdout, taken.stderr);
    (home, list)
}

fn daemon(home: &Home) -> Started {
    let words =
        ["cron", "daemon", "--set", "terminal.sandbox=off", "--set", "cron.write_jobs_json=false"];
    Started::new(program(home, &words))
}

/// What became of each job: the states of its runs.
fn states(home: &Home, count: usize) -> BTreeMap<String, Vec<String>> {
    let most = (count * 3).to_string();
    let told =
        Program::new(PROGRAM, home).run(&["cron", "logs", "--lines", &most, "--json"]).json();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in told["runs"].as_array().into_iter().flatten() {
        let word = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
        found.entry(word("job_id")).or_default().push(word("state"));
    }
    found
}

/// How often each number was written.
fn written(list: &std::path::Path) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    for line in std::fs::read_to_string(list).unwrap_or_default().lines() {
        if let Ok(number) = line.trim().parse() {
            *found.entry(number).or_default() += 1;
        }
    }
    found
}

#[test]
fn s122_s123_two_schedulers_that_are_killed_run_each_due_time_once_or_say_unknown() {
    let (count, kills) = sized((80, 4), (1000, 30));
    let (home, list) = home(count, Duration::from_secs(sized(6, 30)));
    let mut dice = Dice::new(122);
    let mut daemons = [daemon(&home), daemon(&home)];
    let late = Instant::now() + PATIENCE;
    while written(&list).is_empty() {
        assert!(Instant::now() < late, "the first job runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    for at in 0..kills {
        // When a process dies is chance, and this is how chance is made.
        std::thread::sleep(Duration::from_millis(100 + dice.below(400)));
        daemons[at % 2].kill();
        daemons[at % 2] = daemon(&home);
    }
    let done = loop {
        let found = states(&home, count);
        let open = |state: &String| matches!(state.as_str(), "due" | "claimed" | "running");
        // What was interrupted is begun again in a moment.
        let waits = |states: &Vec<String>| states.iter().all(|state| state == "interrupted");
        let busy = found.values().any(waits) || found.values().flatten().any(open);
        if found.len() == count && !busy {
            break found;
        }
        assert!(Instant::now() < late, "{} of {count} jobs have runs", found.len());
        std::thread::sleep(Duration::from_millis(300));
    };
    drop(daemons);
    let lines = written(&list);
    assert!(lines.values().all(|times| *times == 1), "nothing ran twice: {lines:?}");
    let (mut unknown, mut again, mut missed) = (0, 0, 0);
    for number in 0..count {
        let states = &done[&format!("{number:012x}")];
        let ran = states.iter().filter(|state| *state == "succeeded").count();
        let vague = states.iter().any(|state| state == "unknown");
        // Where the machine is so busy that its two minutes were over, it is noted as missed.
        let late = states.iter().any(|state| state == "skipped");
        assert!(ran == 1 || vague || late, "job {number} is neither done nor unknown: {states:?}");
        assert!(ran <= 1, "job {number}: {states:?}");
        assert!(ran == 0 || lines.contains_key(&number), "job {number} did what it says");
        unknown += usize::from(vague);
        missed += usize::from(late);
        again += usize::from(states.len() > 1);
    }
    let figures = format!(
        "{count} jobs due at once, 2 schedulers, {kills} kills: {} ran once, {unknown} unknown, \
         {missed} too late, {again} begun again before anything had been called, none twice, none \
         missing",
        count - unknown - missed
    );
    figure("schedules", &figures);
}

#[test]
fn a_thousand_due_jobs_start_and_chats_are_answered_meanwhile() {
    let count = sized(100, 1000);
    let ahead = Duration::from_secs(sized(5, 20));
    let planned = Instant::now() + ahead;
    let (home, list) = home(count, ahead);
    let model = Model::new(|_| text("here"));
    model.is_used_by(&home, "terminal:\n  sandbox: off\n");
    let variables =
        [("API_SERVER_KEY", KEY), ("API_SERVER_ENABLED", "true"), ("API_SERVER_PORT", "0")];
    let gateway = Server::start(&home, &["gateway", "run"], &variables);
    // Where the machine was too slow they are due when the gateway is there.
    let due = planned.max(Instant::now());
    let late = Instant::now() + PATIENCE;
    let (mut claimed, mut slowest) = (None, Duration::ZERO);
    let body = json!({ "messages": [{ "role": "user", "content": "hello" }] });
    loop {
        let asked = Instant::now();
        let (status, told) = gateway.ask("POST", "/v1/chat/completions", KEY, &body);
        assert_eq!(status, 200, "{told}");
        slowest = slowest.max(asked.elapsed());
        if claimed.is_none() {
            let (_, jobs) = gateway.ask("GET", "/api/jobs", KEY, &Value::Null);
            let open = |job: &&Value| job["state"] == "scheduled";
            let left = jobs["data"].as_array().map_or(0, |all| all.iter().filter(open).count());
            if left == 0 {
                claimed = Some(Instant::now().saturating_duration_since(due));
            }
        }
        if written(&list).len() == count {
            break;
        }
        assert!(Instant::now() < late, "{} of {count} ran", written(&list).len());
    }
    let whole = Instant::now().saturating_duration_since(due);
    assert!(written(&list).values().all(|times| *times == 1));
    let figures = format!(
        "{count} jobs due at once in a gateway: all begun {} ms after they were due, all run after {} \
         ms (four at a time); the slowest of the turns meanwhile took {} ms",
        claimed.unwrap_or(whole).as_millis(),
        whole.as_millis(),
        slowest.as_millis(),
    );
    figure("due at once", &figures);
    // Asked behind what was timed, while the machine is as busy.
    let fair = petasos_testkit::pace::fair(Duration::from_secs(5));
    assert!(claimed.unwrap_or(whole) < fair, "{figures}");
    assert!(slowest < fair, "nobody who chats is starved: {figures}");
}

#[test]
fn a_run_that_costs_more_than_it_may_is_ended() {
    let model = Model::new(|_| {
        let call = call(0, "c1", "terminal", &json!({ "command": "echo again" }));
        let calls = event(&json!({ "role": "assistant", "tool_calls": [call] }), None);
        let end = json!({
            "id": "c", "object": "chat.completion.chunk", "model": "double",
            "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": 0.3 },
        });
        let end = format!("data: {end}\n\ndata: [DONE]\n\n").into_bytes();
        vec![Piece::Bytes([stream(), calls, end].concat())]
    });
    let home = Home::temp();
    model.is_used_by(&home, "terminal:\n  sandbox: off\n");
    let run = |words: &[&str]| Program::new(PROGRAM, &home).run(words);
    let made = run(&["cron", "create", "every 1h", "go on", "--name", "Dear", "--max-cost", "0.5"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(run(&["cron", "run", "Dear"]).code, Some(1));
    let told = run(&["cron", "logs", "Dear", "--json"]).json();
    let one = &told["runs"][0];
    assert_eq!(one["state"], "timed_out", "{told}");
    assert!(one["error"].as_str().is_some_and(|it| it.contains("may cost $0.50")), "{told}");
    assert!(model.asked() <= 4, "{} requests", model.asked());
}
