//! `petasos term`, `ps`, `logs` and `kill`: real commands through the full path.

use petasos_testkit::Home;
use serde_json::json;

use crate::loopback::{Loopback, Say};
use crate::petasos;

#[test]
fn a_command_prints_its_output_and_passes_its_exit_code_on() {
    let home = Home::temp();
    let finished = petasos(&home).run(&["term", "echo hello; pwd; exit 3"]);
    let workspace = home.workspace().canonicalize().unwrap();
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    assert_eq!(finished.stdout, format!("hello\n{}\n", workspace.display()));
}

#[test]
fn a_dangerous_command_with_nobody_there_is_refused_and_not_run() {
    let home = Home::temp();
    home.write("work/build/file", "kept");
    let finished = petasos(&home).run(&["term", "rm -rf build", "--json"]);
    let result = finished.json();
    assert_eq!(result["outcome"], "undeliverable", "{result}");
    assert_eq!(result["exit_code"], -1);
    let shown = petasos(&home).run(&["term", "rm -rf build"]).stderr;
    assert_eq!(shown.matches("nobody can be asked").count(), 1, "said once: {shown}");
    assert!(!shown.contains("Tell the user"), "no words for a model: {shown}");
    assert!(home.workspace().join("build/file").exists());
    let log = petasos(&home).run(&["approval", "log", "--json"]).json();
    assert_eq!(log["decisions"].as_array().unwrap().len(), 2, "{log}");
    assert_eq!(petasos(&home).run(&["approval", "log", "--verify"]).code, Some(0));
}

#[test]
fn a_hardline_command_is_blocked_in_every_mode() {
    let home = Home::temp();
    let result =
        petasos(&home).run(&["--set", "approvals.mode=off", "term", "rm -rf /", "--json"]).json();
    assert_eq!(result["outcome"], "blocked", "{result}");
}

#[test]
fn no_secret_reaches_a_command() {
    let home = Home::temp();
    home.write(".petasos/.env", "OPENAI_API_KEY=sk-canary-from-dotenv-0123456789\n");
    let finished = petasos(&home)
        .with("OPENROUTER_API_KEY", "sk-canary-from-process-0123456789")
        .run(&["term", "env; cat /proc/self/environ"]);
    assert!(!finished.stdout.contains("canary"), "{}", finished.stdout);
}

#[test]
fn a_job_outlives_the_program_and_can_be_ended_by_the_next_one() {
    let home = Home::temp();
    let started = petasos(&home).run(&["term", "--background", "echo begun; sleep 600", "--json"]);
    let job = started.json()["session_id"].as_str().unwrap().to_owned();
    let listed = petasos(&home).run(&["ps", "--json"]).json();
    assert_eq!(listed["processes"][0]["session_id"], job.as_str(), "{listed}");
    assert_eq!(listed["processes"][0]["status"], "running");
    assert!(petasos(&home).run(&["logs", &job]).stdout.contains("begun"));
    // The beginning of its name is enough, with what all names begin with or without.
    let (short, bare) = (job.get(..9).expect("ASCII"), job.get(5..9).expect("ASCII"));
    assert!(petasos(&home).run(&["logs", short]).stdout.contains("begun"));
    let killed = petasos(&home).run(&["kill", bare, "--json"]).json();
    assert_eq!((&killed["status"], &killed["session_id"]), (&json!("killed"), &json!(job)));
    let after = petasos(&home).run(&["ps", "--json"]).json();
    // It stays listed with how it ended.
    assert_eq!(after["processes"][0]["status"], "exited", "{after}");
    assert_eq!(after["processes"][0]["completion_reason"], "killed", "{after}");
    assert_eq!(petasos(&home).run(&["kill", "proc_000000000000"]).code, Some(1));
}

/// The sandbox of a command that nobody watches would be in the way, too.
const UNCONFINED: [&str; 3] = ["--set", "terminal.sandbox=off", "term"];

#[test]
fn a_command_cannot_loosen_approvals_by_starting_this_program_again() {
    let home = Home::temp();
    home.write("work/victim/file", "kept");
    home.write(
        "other/config.yaml",
        "approvals:\n  mode: off\ncommand_allowlist: ['rm -rf victim', recursive delete]\n",
    );
    let program = env!("CARGO_BIN_EXE_petasos");
    let other = home.workspace().parent().unwrap().join("other");
    for (again, code) in [
        (format!("{program} --json --set approvals.mode=off term 'rm -rf victim'"), "supervised"),
        (format!("HERMES_YOLO_MODE=1 {program} --json term 'rm -rf victim'"), "supervised"),
        (format!("{program} --json config set approvals.mode off"), "supervised"),
        (format!("{program} --json approval grant rm"), "supervised"),
        (
            format!("PETASOS_HOME={} {program} --json term 'rm -rf victim'", other.display()),
            "undeliverable",
        ),
        (format!("setsid -w {program} --json --set approvals.mode=off doctor"), "supervised"),
    ] {
        // The script is the person's own and too long to be read beforehand, so that nothing but
        // the program itself is in the way.
        home.write("work/again.sh", format!("{again} 2>&1\n{}", "#\n".repeat(40_000)));
        let finished = petasos(&home).run(&[&UNCONFINED[..], &["sh again.sh"]].concat());
        assert!(finished.stdout.contains(code), "{again}: {}", finished.stdout);
        assert!(home.workspace().join("victim/file").exists(), "{again}");
    }
    let mode = petasos(&home).run(&["config", "get", "approvals.mode"]);
    assert!(!mode.stdout.contains("off"), "{}", mode.stdout);
    home.write("work/again.sh", format!("{program} term 'echo inner'\n"));
    let inner = petasos(&home).run(&[&UNCONFINED[..], &["sh again.sh"]].concat()).stdout;
    assert!(inner.ends_with("inner\n"), "{inner}");
}

#[test]
fn a_resumed_conversation_sees_its_jobs() {
    let list = || Say::Calls(vec![("process", json!({ "action": "list" }))]);
    let start = json!({ "command": "echo begun; sleep 600", "background": true });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("terminal", start)]),
        Say::Text("started"),
        list(),
        Say::Text("seen"),
    ]);
    let home = model.home();
    assert_eq!(petasos(&home).run(&["run", "start it"]).code, Some(0));
    assert_eq!(petasos(&home).run(&["run", "--continue", "is it there?"]).code, Some(0));
    let asked = model.asked();
    let prompt = asked.last().expect("a request")["messages"].to_string();
    let job = petasos(&home).run(&["ps", "--json"]).json()["processes"][0]["session_id"].clone();
    let job = job.as_str().expect("a job");
    assert!(prompt.matches(job).count() >= 2, "{job}: {prompt}");
    assert!(prompt.contains("running"), "{prompt}");
    assert_eq!(petasos(&home).run(&["kill", job]).code, Some(0));
}

/// `ET_DYN` in the header of the program: the loader chooses the address.
#[test]
#[cfg(target_os = "linux")]
fn the_program_is_loaded_at_a_random_address() {
    let header = std::fs::read(env!("CARGO_BIN_EXE_petasos")).expect("the program");
    assert_eq!(header.get(16..18), Some(&[3, 0][..]));
}

#[test]
fn a_person_is_told_of_jobs_in_words_of_the_command_line() {
    let home = Home::temp();
    let silent = petasos(&home).run(&["term", "--background", "sleep 600"]);
    assert_eq!(silent.code, Some(0), "{}", silent.stderr);
    let job = silent.stderr.lines().find_map(|line| line.strip_prefix("job: "));
    let job = job.unwrap_or_else(|| panic!("{}", silent.stderr)).to_owned();
    assert!(silent.stderr.contains(&format!("`petasos logs {job}`")), "{}", silent.stderr);
    assert!(!silent.stderr.contains("notify_on_complete"), "{}", silent.stderr);
    let logs = petasos(&home).run(&["logs", &job]);
    assert!(logs.stderr.contains("has printed nothing"), "{}", logs.stderr);
    let another = petasos(&home).run(&["term", "--background", "sleep 600", "--json"]).json();
    let another = another["session_id"].as_str().expect("a job").to_owned();
    // All names begin so: nobody is meant.
    assert_eq!(petasos(&home).run(&["kill", "proc_"]).code, Some(1));
    for job in [&job, &another] {
        assert_eq!(petasos(&home).run(&["kill", job]).code, Some(0));
    }
    let away = petasos(&home).run(&["term", "sleep 100 & echo hi"]);
    assert!(away.stderr.contains("`--background`"), "{}", away.stderr);
    assert!(!away.stderr.contains("background=true"), "{}", away.stderr);
}
