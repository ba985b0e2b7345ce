//! Two processes approve for good while they are killed at random: no approved key is lost.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use petasos_approval::{Engine, log};
use petasos_contract::approval::{Finding, Intent, Policy, Scope, Settlement};
use petasos_contract::context::Surface;
use petasos_contract::settings::Parts;
use petasos_contract::{CallContext, Plan, SessionId, Settings, ToolName};

use super::{Place, write_file, yes};

const ANSWERS_EACH: usize = 500;
const BEFORE: &str = "\
# My own words, which nobody may touch.
terminal:
  timeout: 5 # seconds
# Answers to \"always\".
command_allowlist: [] # starts empty
# The end.
";

/// Not a test of its own: what the processes of the test below run. It reads its orders from the
/// standard input and acknowledges every answer that is settled.
#[test]
#[ignore = "helper process: runs only as a child of the test below"]
fn approver() {
    let mut orders = std::io::stdin().lines();
    let mut order = || orders.next().unwrap().unwrap();
    let home = PathBuf::from(order());
    let name = order();
    let first: usize = order().parse().unwrap();
    let settings = Arc::new(Settings::new(Parts { home, ..Parts::default() }));
    let cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
    let engine = Engine::default();
    let (tool, plan) = (ToolName::new("any"), Plan::default());
    let mut out = std::io::stdout();
    for number in first..ANSWERS_EACH {
        let escalated = [Finding {
            key: format!("plugin_rule:{name} {number}").into(),
            why: "a hook asks".to_owned(),
            kind: petasos_contract::approval::FindingKind::Rule,
            span: None,
            widest: Scope::Always,
            stores: None,
        }];
        let intent = Intent { tool: &tool, plan: &plan, escalated: &escalated };
        let verdict = engine.judge(&intent, &cx);
        let answer = yes(Scope::Always);
        let settled = Settlement { intent: &intent, verdict: &verdict, answer: Some(&answer) };
        super::now(engine.settle(&settled, &cx)).unwrap();
        writeln!(out, "\nsettled {number}").unwrap();
        out.flush().unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the test is about processes being killed")]
fn start(home: &Path, name: &str, first: usize) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "policy::kills::approver", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let orders = format!("{}\n{name}\n{first}\n", home.display());
    child.stdin.take().unwrap().write_all(orders.as_bytes()).unwrap();
    child
}

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}

/// Restarts an approver after its last acknowledgement until it is through; returns how often it
/// was killed.
fn drive(home: &Path, name: &str) -> usize {
    let (mut next, mut kills) = (0, 0);
    while next < ANSWERS_EACH {
        let mut child = start(home, name, next);
        let mut patience = 1 + random(40);
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let Some(number) = line.strip_prefix("settled ") else { continue };
            next = number.parse::<usize>().unwrap() + 1;
            patience -= 1;
            if patience == 0 {
                // Any moment of the next answer will do; this is not waiting for anything.
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
fn two_approvers_killed_at_random_lose_no_key_and_disturb_nothing() {
    let place = Place::new();
    let config = place.home().join("config.yaml");
    write_file(&config, BEFORE);
    let kills: usize = std::thread::scope(|scope| {
        let home = place.home();
        let runs = ["one", "two"].map(|name| {
            let home = home.clone();
            scope.spawn(move || drive(&home, name))
        });
        runs.map(|run| run.join().unwrap()).iter().sum()
    });
    println!("{kills} kills");
    assert!(kills > 0);

    let inputs = petasos_config::Inputs {
        environment: [("PETASOS_HOME".to_owned(), place.home().display().to_string())].into(),
        cwd: place.work(),
        user_home: Some(place.user()),
        ..petasos_config::Inputs::default()
    };
    let saved = petasos_config::load(&inputs).unwrap().names("command_allowlist").unwrap();
    for name in ["one", "two"] {
        for number in 0..ANSWERS_EACH {
            let key = format!("plugin_rule:{name} {number}");
            assert!(saved.contains(&key), "{key} is lost");
        }
    }
    assert_eq!(saved.len(), 2 * ANSWERS_EACH);
    let text = std::fs::read_to_string(&config).unwrap();
    for comment in
        ["# My own words, which nobody may touch.", "# seconds", "# starts empty", "# The end."]
    {
        assert!(text.contains(comment), "{comment}");
    }
    let verified = log::verify(&place.home()).unwrap();
    assert_eq!(verified.broken, None);
    assert!(verified.entries >= 1000, "{verified:?}");
}
