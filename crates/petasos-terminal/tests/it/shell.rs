//! What outlives a command, and what no command can break.

use std::sync::Arc;

use petasos_contract::environment::{Environments, Launch, Program};
use petasos_contract::path::TargetPath;
use petasos_contract::terminal::{Command, Ended, Terminal};

use crate::stage::{CANARY, Lending, Stage, at, command, within};

#[tokio::test]
async fn a_directory_and_exports_outlive_a_command_in_their_own_session() {
    let stage = Stage::new();
    std::fs::create_dir(stage.path().join("sub")).unwrap();
    stage.output("cd sub; export A=1 B='two words'; C=3").await;
    let here = stage.path().join("sub");
    assert_eq!(stage.output("pwd").await, format!("{}\n", here.display()));
    assert_eq!(stage.output("echo $A/$B/$C").await, "1/two words/\n");
    let other = stage.session("two");
    let ran = stage.run_in(&other, command("pwd; echo [$A]")).await;
    assert_eq!(ran.output, format!("{}\n[]\n", stage.path().display()));
    assert_eq!(stage.engine.cwd(&stage.cx()).as_path(), here);
}

#[tokio::test]
async fn tasks_of_one_session_have_directories_of_their_own() {
    let stage = Stage::new();
    let mut task = stage.cx();
    task.task = "research".into();
    stage.run_in(&task, command("cd /")).await;
    assert_eq!(stage.output("pwd").await, format!("{}\n", stage.path().display()));
    assert_eq!(stage.run_in(&task, command("pwd")).await.output, "/\n");
}

#[tokio::test]
async fn unset_and_changed_variables_stay_so() {
    let stage = Stage::new();
    stage.output("unset LANG; export PATH=$PATH:/extra").await;
    let output = stage.output("echo [$LANG] ${PATH##*:}").await;
    assert_eq!(output, "[] /extra\n");
}

#[tokio::test]
async fn a_command_has_no_arguments_however_long_it_is() {
    let stage = Stage::new();
    let long = format!(": {}\n", "x".repeat(150_000));
    for before in ["", "# it's quoted \"twice\"\n", &long] {
        let output = stage.output(&format!("{before}echo \"$# $0 [$*]\"")).await;
        assert_eq!(output, "0 bash []\n", "{} bytes", before.len());
    }
    let broken = stage.run("echo )").await.output;
    assert!(broken.contains("`echo )'"), "{broken}");
}

#[tokio::test]
async fn a_program_without_a_path_is_found_by_the_search_path_alone() {
    let stage = Stage::new();
    std::fs::copy("/bin/true", stage.path().join("only-here")).unwrap();
    let cx = stage.cx();
    let place = stage.engine.of(&cx).await.unwrap();
    let start = async |argv: &[&str]| {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let launch = Launch::of(Program::Argv(argv), TargetPath::new(stage.path()));
        place.spawn(launch, &cx).await.map(drop)
    };
    start(&["ls", "/"]).await.unwrap();
    let told = start(&["only-here"]).await.unwrap_err().to_string();
    assert!(told.contains("no program `only-here` in the search path"), "{told}");
}

#[tokio::test]
async fn a_workdir_is_for_one_command() {
    let stage = Stage::new();
    std::fs::create_dir(stage.path().join("sub")).unwrap();
    let cx = stage.cx();
    let ran = stage.run_in(&cx, at("sub", "pwd")).await;
    assert_eq!(ran.output, format!("{}\n", stage.path().join("sub").display()));
    let missing = stage.run_in(&cx, at("nowhere", "pwd")).await;
    assert!(matches!(missing.ended, Ended::NoCwd(_)), "{missing:?}");
    let ran = stage.run_in(&cx, command("pwd")).await;
    assert_eq!(ran.output, format!("{}\n", stage.path().display()));
    stage.run_in(&cx, at("sub", "export MARK=1; cd /")).await;
    let ran = stage.run_in(&cx, command("pwd; echo $MARK")).await;
    assert_eq!(ran.output, format!("{}\n1\n", stage.path().display()));
}

#[tokio::test]
async fn in_a_directory_that_is_gone_nothing_runs_until_the_session_leaves_it() {
    let stage = Stage::new();
    std::fs::create_dir(stage.path().join("gone")).unwrap();
    let cx = stage.cx();
    stage.run_in(&cx, command("cd gone")).await;
    stage.run_in(&cx, command("rmdir ../gone")).await;
    for script in ["touch marker", "cd ..", "cd /; touch marker", "cd $X", "touch ../marker"] {
        let ran = stage.run_in(&cx, command(script)).await;
        let Ended::NoCwd(why) = &ran.ended else { panic!("{script}: {ran:?}") };
        assert!(why.contains(&stage.path().join("gone").display().to_string()), "{why}");
    }
    assert!(!stage.path().join("marker").exists());
    let path = stage.path().display().to_string();
    assert_eq!(stage.run_in(&cx, at(&path, "pwd")).await.output, format!("{path}\n"));
    let out = stage.run_in(&cx, command(&format!("cd {path}"))).await;
    assert_eq!(out.ended, Ended::Exited(0), "{out:?}");
    assert_eq!(stage.run_in(&cx, command("pwd")).await.output, format!("{path}\n"));
}

#[tokio::test]
async fn nothing_a_command_does_breaks_the_next_one() {
    let stage = Stage::new();
    let rows = [
        ("exit 3", 3, ""),
        ("exec true", 0, ""),
        ("set -e; false; echo no", 1, ""),
        ("set -euo pipefail; echo yes | grep -q no", 1, ""),
        ("trap 'echo bye' EXIT; cd /tmp; exit 4", 4, "bye\n"),
        ("kill -9 $$", 137, ""),
        ("printf 'no newline'", 0, "no newline"),
        ("printf '\\377\\376\\000x'", 0, "\u{fffd}\u{fffd}x"),
        ("cat", 0, ""),
        ("read -r line || echo end", 0, "end\n"),
        ("exec 0<&- 1>&-; true", 0, ""),
        ("set -x; true", 0, "++ true\n"),
        ("alias pwd=false; function export { false; }; true", 0, ""),
        ("echo \"it's $((1 + 1))\"", 0, "it's 2\n"),
        ("echo $# $1", 0, "0\n"),
        ("if true", 2, ""),
    ];
    for (script, code, output) in rows {
        let ran = stage.run(script).await;
        assert_eq!(ran.ended, Ended::Exited(code), "{script}: {}", ran.output);
        if code != 2 {
            assert_eq!(ran.output, output, "{script}");
        }
        assert_eq!(stage.output("echo fine").await, "fine\n", "after {script}");
    }
}

#[tokio::test]
async fn exports_of_an_early_exit_are_kept() {
    let stage = Stage::new();
    stage.run("export KEPT=yes; cd /tmp; exit 1").await;
    assert_eq!(stage.output("echo $KEPT; pwd").await, "yes\n/tmp\n");
    stage.run("set -euo pipefail; cd /; export STRICT=1; false").await;
    assert_eq!(stage.output("echo $STRICT; pwd").await, "1\n/\n");
}

#[tokio::test]
async fn a_long_command_and_a_long_line_are_whole() {
    let stage = Stage::new();
    let long = "x".repeat(300_000);
    let output = stage.output(&format!("printf %s {long} | wc -c")).await;
    assert_eq!(output.trim(), "300000");
    let ran = stage.run("head -c 3000000 /dev/zero | tr '\\0' y").await;
    assert_eq!(ran.ended, Ended::Exited(0));
    let whole = std::fs::metadata(ran.whole.unwrap().as_path()).unwrap();
    assert_eq!(whole.len(), 3_000_000);
}

#[tokio::test]
async fn input_is_what_was_given_and_then_ends() {
    let stage = Stage::new();
    let with = Command { stdin: Some(b"given".to_vec()), ..command("cat") };
    assert_eq!(stage.run_in(&stage.cx(), with).await.output, "given");
    let much = Command { stdin: Some(vec![b'x'; 500_000]), ..command("wc -c") };
    assert_eq!(stage.run_in(&stage.cx(), much).await.output.trim(), "500000");
}

#[tokio::test]
async fn login_files_are_read_once_and_their_secrets_stay_out() {
    let stage = Stage::with(&serde_json::json!({ "auto_source_bashrc": true }));
    let profile = "export FROM_PROFILE=yes MY_API_TOKEN=x\ngreet() { echo hello $1; }\n\
                   _hidden() { :; }\nalias ll='echo listing'\nshopt -s extglob\n\
                   echo read >> $HOME/count\n";
    let path = stage.home.path().join(".bashrc");
    std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), profile.as_bytes())
        .unwrap();
    let output = stage.output("echo $FROM_PROFILE [$MY_API_TOKEN]; greet you; ll").await;
    assert_eq!(output, "yes []\nhello you\nlisting\n");
    assert_eq!(stage.output("shopt -q extglob && echo on").await, "on\n");
    assert_eq!(stage.output("type -t _hidden || echo none").await, "none\n");
    let count = std::fs::read_to_string(stage.home.path().join("count")).unwrap();
    assert_eq!(count, "read\n");
}

#[tokio::test]
async fn no_secret_reaches_a_child_or_its_output() {
    let stage = Stage::new();
    let env = stage.output("env; cat /proc/self/environ | tr '\\0' '\\n'").await;
    assert!(!env.contains(CANARY) && !env.contains("API_KEY"), "{env}");
    let echoed = stage.output(&format!("echo x{CANARY}x; echo MY_TOKEN=abc")).await;
    assert!(!echoed.contains(CANARY), "{echoed}");
}

#[tokio::test]
async fn what_a_skill_declares_is_passed_to_its_session_and_no_provider_s_key_is() {
    let mut stage = Stage::new();
    stage.variable("WEATHER_STATION", "station-7");
    let (one, two) = (stage.session("one"), stage.session("two"));
    let names = ["WEATHER_STATION", "OPENAI_API_KEY", "NOT_SET"];
    let skill = Lending::of(&names, &[]);
    stage.engine.lend(&one.session, "a skill", Arc::clone(&skill) as _);
    let show = "echo \"${WEATHER_STATION-none} ${OPENAI_API_KEY-none} ${NOT_SET-none}\"";
    let seen = async |cx| stage.run_in(cx, command(show)).await.output;
    assert_eq!(seen(&one).await, "station-7 none none\n");
    assert_eq!(seen(&two).await, "none none none\n");
    stage.run_in(&one, command("export WEATHER_STATION=mine")).await;
    assert_eq!(seen(&one).await, "mine none none\n", "what the session says counts more");
    stage.engine.forget_session(&one.session);
    assert_eq!(seen(&one).await, "none none none\n");
}

#[tokio::test]
async fn what_a_skill_lends_ends_with_its_use() {
    let mut stage = Stage::new();
    stage.variable("WEATHER_STATION", "station-7");
    let cx = stage.session("one");
    let seen = async || stage.run_in(&cx, command("echo \"${WEATHER_STATION-none}\"")).await.output;
    let skill = Lending::of(&["WEATHER_STATION"], &[]);
    stage.engine.lend(&cx.session, "skills/weather", Arc::clone(&skill) as _);
    assert_eq!(seen().await, "station-7\n");
    // Nobody told the terminal: it asks before each command.
    skill.end();
    assert_eq!(seen().await, "none\n");
    let skill = Lending::of(&["WEATHER_STATION"], &[]);
    stage.engine.lend(&cx.session, "skills/weather", Arc::clone(&skill) as _);
    assert_eq!(seen().await, "station-7\n");
    stage.engine.take_back(&cx.session, &|from| from == "skills/weather");
    assert_eq!(seen().await, "station-7\n", "its text is still in the conversation");
    stage.engine.take_back(&cx.session, &|_| false);
    assert_eq!(seen().await, "none\n");
}

#[tokio::test]
async fn a_timeout_ends_the_command_and_says_so() {
    let stage = Stage::new();
    let ran = stage.run_in(&stage.cx(), within(0.3, "echo before; sleep 60; echo after")).await;
    assert!(matches!(ran.ended, Ended::TimedOut(_)));
    assert_eq!(ran.output, "before\n");
}
