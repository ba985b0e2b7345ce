//! Runs whose scheduler is stopped or dies in the middle of them: one that had called nothing begins
//! again, of any other nobody knows how far it came, and both are named to whoever looks.

use std::time::{Duration, Instant};

use petasos_testkit::{Finished, Home, Program};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::model::{Asked, Model, Piece, calls, text};
use super::started::{PROGRAM, Started, program};
use crate::cron::topics;

const PATIENCE: Duration = Duration::from_mins(2);

/// How a scheduler ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is asked to.
    Term,
    /// It is asked to, twice.
    TermTwice,
    /// It is not asked.
    Kill,
}

/// How far the run has come by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The model has not answered yet.
    Asked,
    /// A command runs that the model called for.
    Called,
}

struct Case {
    home: Home,
    model: Model,
    list: std::path::PathBuf,
    told: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
    ntfy: String,
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let late = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < late, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Case {
    /// A home with one job that is due; its model stalls once, or calls for something long.
    fn new(stage: Stage, schedule: &str) -> Self {
        let home = Home::temp();
        let list = home.workspace().join("list");
        let command = format!("echo begun >> '{}'; sleep 300", list.display());
        let model = Model::new(move |asked: &Asked| match stage {
            Stage::Asked if asked.number == 0 => vec![Piece::Stall],
            Stage::Called if asked.results() == 0 => {
                calls(&[("terminal", json!({ "command": command, "timeout": 400 }))])
            }
            _ => text("the house stands"),
        });
        let more = "agent:\n  restart_drain_timeout: 0\nterminal:\n  sandbox: off\n";
        model.is_used_by(&home, more);
        let (ntfy, told) = topics(200);
        let case = Self { home, model, list, told, ntfy };
        let job = ["create", schedule, "look after the house", "--name", "House"];
        let more = ["--misfire", "once", "--deliver", "ntfy:jobs"];
        let made = case.cron(&[&job[..], &more[..]].concat());
        assert_eq!(made.code, Some(0), "{} {}", made.stdout, made.stderr);
        // One that comes once a year is due because a year has passed.
        let store = case.home.user().join(".petasos/petasos.db");
        let store = rusqlite::Connection::open(store).expect("a database");
        if schedule.contains('*') {
            let year = 366_i64 * 86_400_000;
            let sql = "UPDATE jobs SET cursor_ms = cursor_ms - ?1, next_ms = next_ms - ?1";
            assert_eq!(store.execute(sql, [year]).expect("a change"), 1);
        }
        case
    }

    fn cron(&self, arguments: &[&str]) -> Finished {
        let program = Program::new(PROGRAM, &self.home);
        let program = program.with("NTFY_TOPIC", "jobs").with("NTFY_SERVER", &self.ntfy);
        program.run(&[&["cron"], arguments].concat())
    }

    fn shown(&self, arguments: &[&str]) -> Value {
        self.cron(&[arguments, &["--json"]].concat()).json()
    }

    fn scheduler(&self, words: &[&str]) -> Started {
        let mut command = program(&self.home, words);
        command.env("NTFY_TOPIC", "jobs").env("NTFY_SERVER", &self.ntfy);
        command.env("WEBHOOK_ENABLED", "true").env("WEBHOOK_PORT", "0");
        command.env("WEBHOOK_SECRET", "a-secret-of-the-test-0123456789");
        Started::new(command)
    }

    fn lines(&self) -> usize {
        std::fs::read_to_string(&self.list).unwrap_or_default().lines().count()
    }

    /// The states of its runs, the oldest first.
    fn states(&self) -> Vec<String> {
        let told = self.shown(&["logs"]);
        let runs = told["runs"].as_array().cloned().unwrap_or_default();
        runs.iter().map(|run| run["state"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn told(&self) -> String {
        self.told.lock().expect("nobody panics").join("\n")
    }

    /// A scheduler takes the job, and ends in the middle of it.
    fn cut(&self, words: &[&str], stage: Stage, end: End) {
        let mut scheduler = self.scheduler(words);
        until("the run begins", || match stage {
            Stage::Asked => self.model.asked() > 0,
            Stage::Called => self.lines() > 0,
        });
        if end == End::Kill {
            scheduler.kill();
            return;
        }
        let pid = Pid::from_raw(i32::try_from(scheduler.pid()).expect("a pid")).expect("a pid");
        kill_process(pid, Signal::TERM).expect("it runs");
        if end == End::TermTwice {
            // It may be gone by then.
            kill_process(pid, Signal::TERM).unwrap_or_default();
        }
        let ended = scheduler.end(PATIENCE);
        // A signal that comes before anybody waits for a second one ends it, too.
        let asked = ended.code == Some(0) || end == End::TermTwice;
        assert!(asked && ended.signal != Some(9), "{ended:?}");
    }

    /// What had called nothing is named as interrupted and begins again, once.
    fn begins_again(&self, end: End) {
        let before = self.states();
        if end == End::Term {
            assert_eq!(before, ["interrupted"]);
            let status = self.shown(&["status"]);
            assert_eq!(status["cut_off"][0]["state"], json!("interrupted"), "{status}");
            assert!(self.cron(&["status"]).stdout.contains("interrupted: House"));
        }
        let _next = self.scheduler(&["cron", "daemon"]);
        until("it begins again", || self.states() == ["interrupted", "succeeded"]);
        assert_eq!(self.model.asked(), 2);
        until("its reply is told", || self.told().contains("the house stands"));
        assert!(!self.told().contains("cut off"), "nothing is lost: {}", self.told());
        assert_eq!(self.shown(&["status"])["cut_off"], json!([]));
    }

    /// What had called something is named as unknown, told once, and not run again.
    fn is_unknown(&self, end: End) {
        if end == End::Term {
            assert_eq!(self.states(), ["unknown"]);
        }
        let next = self.scheduler(&["cron", "daemon"]);
        until("it is known as unknown", || self.states() == ["unknown"]);
        // Whoever is asked twice may end between two steps of telling.
        if end != End::TermTwice {
            until("people are told", || self.told().contains("cut off"));
        }
        for _ in 0..2 {
            assert_eq!(self.cron(&["tick"]).code, Some(0));
        }
        drop(next);
        assert_eq!((self.lines(), self.states().len()), (1, 1), "nobody repeats it");
        let told = self.told().matches("cut off").count();
        assert!(told == 1 || (told == 0 && end == End::TermTwice), "{}", self.told());
        let status = self.shown(&["status"]);
        assert_eq!(status["cut_off"][0]["state"], json!("unknown"), "{status}");
        let page = self.cron(&["status"]).stdout;
        assert!(page.contains("unknown: House") && page.contains("petasos cron run"), "{page}");
        let page = self.cron(&["show", "House"]).stdout;
        assert!(page.contains("runs, the newest first") && page.contains("unknown"), "{page}");
    }
}

fn play(schedule: &str, words: &[&str], stage: Stage, end: End) {
    let case = Case::new(stage, schedule);
    case.cut(words, stage, end);
    match stage {
        Stage::Asked => case.begins_again(end),
        Stage::Called => case.is_unknown(end),
    }
}

const DAEMON: [&str; 2] = ["cron", "daemon"];
const YEARLY: &str = "0 0 1 1 *";

#[test]
fn s123_a_one_shot_that_called_nothing_when_its_daemon_ended_begins_again() {
    for end in [End::Term, End::TermTwice, End::Kill] {
        play("1s", &DAEMON, Stage::Asked, end);
    }
}

#[test]
fn s123_a_one_shot_that_called_something_when_its_daemon_ended_is_unknown() {
    for end in [End::Term, End::TermTwice, End::Kill] {
        play("1s", &DAEMON, Stage::Called, end);
    }
}

#[test]
fn s123_a_repeating_job_whose_daemon_ended_begins_again_or_is_unknown() {
    for stage in [Stage::Asked, Stage::Called] {
        for end in [End::Term, End::Kill] {
            play(YEARLY, &DAEMON, stage, end);
        }
    }
}

#[test]
fn s123_a_run_of_a_gateway_that_ends_begins_again_or_is_unknown() {
    for (schedule, stage) in [("1s", Stage::Asked), (YEARLY, Stage::Called)] {
        for end in [End::Term, End::Kill] {
            play(schedule, &["gateway", "run"], stage, end);
        }
    }
}

#[test]
fn s123_a_script_that_is_stopped_with_its_daemon_is_unknown_and_ended() {
    let home = Home::temp();
    let list = home.workspace().join("list");
    let script = format!("echo begun >> '{}'\nexec sleep 300\n", list.display());
    home.write(".petasos/scripts/long.sh", script);
    home.write(".petasos/config.yaml", "agent:\n  restart_drain_timeout: 0\n");
    let run = |words: &[&str]| Program::new(PROGRAM, &home).run(words);
    let job = ["cron", "create", "1s", "--script", "long.sh", "--no-agent", "--misfire", "once"];
    assert_eq!(run(&job).code, Some(0));
    let daemon = Started::new(program(&home, &["cron", "daemon", "--set", "terminal.sandbox=off"]));
    until("the script begins", || list.exists());
    let pid = Pid::from_raw(i32::try_from(daemon.pid()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::TERM).expect("it runs");
    let ended = daemon.end(PATIENCE);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let runs = run(&["cron", "logs", "--json"]).json();
    assert_eq!(runs["runs"][0]["state"], json!("unknown"), "{runs}");
    super::started::gone(home.user(), "the script of a stopped daemon");
}

#[test]
fn a_run_that_was_given_up_while_its_process_slept_calls_nothing_when_it_wakes() {
    let home = Home::temp();
    let (list, woken) = (home.workspace().join("list"), home.workspace().join("woken"));
    let command = format!("echo begun >> '{}'", list.display());
    let (result, wakes) = (std::sync::Arc::new(std::sync::Mutex::new(Value::Null)), woken.clone());
    let seen = std::sync::Arc::clone(&result);
    let model = Model::new(move |asked: &Asked| {
        if asked.results() > 0 {
            let last = asked.body["messages"].as_array().and_then(|it| it.last().cloned());
            *seen.lock().expect("nobody panics") = last.unwrap_or_default();
            return text("I could not");
        }
        until("it wakes", || wakes.exists());
        calls(&[("terminal", json!({ "command": command }))])
    });
    model.is_used_by(&home, "terminal:\n  sandbox: off\n");
    let job = ["cron", "create", "1s", "look after the house", "--misfire", "once"];
    assert_eq!(Program::new(PROGRAM, &home).run(&job).code, Some(0));
    let _daemon = Started::new(program(&home, &["cron", "daemon"]));
    until("the model is asked", || model.asked() > 0);
    // Another process has waited for its heartbeat long enough.
    let store = rusqlite::Connection::open(home.user().join(".petasos/petasos.db"));
    let sql = "UPDATE occurrences SET state = 'unknown', owner = ''";
    let store = store.expect("a database");
    store.busy_timeout(PATIENCE).expect("patience");
    assert_eq!(store.execute(sql, []).expect("a change"), 1);
    std::fs::File::create(&woken).expect("a file");
    until("the call is answered", || !result.lock().expect("nobody panics").is_null());
    let told = result.lock().expect("nobody panics").to_string();
    assert!(told.contains("given up"), "{told}");
    assert!(!list.exists(), "nothing was done");
}
