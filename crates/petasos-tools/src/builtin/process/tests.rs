//! The tool against real background processes.

use serde_json::{Value, json};

use super::TOOL;
use crate::builtin::terminal::tests::Room;

async fn process(room: &Room, args: Value) -> Value {
    room.call(&*(TOOL.build)(&room.ports), args).await
}

async fn start(room: &Room, command: &str) -> String {
    let told = room.terminal(json!({ "command": command, "background": true })).await;
    told["session_id"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
}

#[tokio::test]
async fn a_process_is_listed_typed_to_waited_for_and_read() {
    let room = Room::new();
    let id = start(&room, "read a; echo got $a; cat").await;
    let listed = process(&room, json!({ "action": "list" })).await;
    assert_eq!(listed["processes"][0]["session_id"], json!(id));
    assert_eq!(listed["processes"][0]["status"], "running");
    let typed = json!({ "action": "submit", "session_id": id, "data": "it" });
    assert_eq!(process(&room, typed).await["bytes_written"], 3);
    let closed = process(&room, json!({ "action": "close", "session_id": id })).await;
    assert_eq!(closed["status"], "ok");
    let waited = process(&room, json!({ "action": "wait", "session_id": id })).await;
    assert_eq!(waited["status"], "exited");
    assert_eq!((&waited["exit_code"], &waited["output"]), (&json!(0), &json!("got it\n")));
    let log = process(&room, json!({ "action": "log", "session_id": id })).await;
    assert_eq!((&log["output"], &log["total_lines"]), (&json!("got it\n"), &json!(1)));
    let killed = process(&room, json!({ "action": "kill", "session_id": id })).await;
    assert_eq!(killed["status"], "already_exited");
}

#[tokio::test]
async fn a_running_process_can_be_polled_outwaited_and_killed() {
    let room = Room::new();
    let id = start(&room, "echo up; sleep 60").await;
    let waited = json!({ "action": "wait", "session_id": id, "timeout": 1 });
    let waited = process(&room, waited).await;
    assert_eq!(waited["status"], "timeout");
    assert!(waited["timeout_note"].is_string());
    let polled = process(&room, json!({ "action": "poll", "session_id": id })).await;
    assert_eq!((&polled["status"], &polled["output_preview"]), (&json!("running"), &json!("up\n")));
    let killed = process(&room, json!({ "action": "kill", "session_id": id })).await;
    assert_eq!((&killed["status"], &killed["exit_code"]), (&json!("killed"), &json!(-15)));
}

#[tokio::test]
async fn what_is_not_there_is_said_so() {
    let room = Room::new();
    let rows = [
        (json!({ "action": "poll", "session_id": "proc_none" }), "not_found"),
        (json!({ "action": "kill", "session_id": 7 }), "not_found"),
        (json!({ "action": "poll" }), "error"),
        (json!({ "action": "dance" }), "error"),
    ];
    for (args, status) in rows {
        let told = process(&room, args.clone()).await;
        assert_eq!(told["status"], status, "{args}");
        assert!(told["error"].is_string(), "{told}");
    }
}

/// The command that typing this into a job is judged as.
async fn judged(
    tool: &dyn petasos_contract::Tool,
    room: &Room,
    id: &str,
    data: &str,
) -> Option<String> {
    let args = json!({ "action": "submit", "session_id": id, "data": data });
    let args = petasos_contract::Args::try_from(args).unwrap();
    let plan = tool.plan(args, &room.cx).await.unwrap();
    plan.effects.iter().find_map(|effect| match effect {
        petasos_contract::effect::Effect::Command { script, .. } => Some(script.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn what_is_typed_is_judged_in_whole_lines_by_the_program_that_reads_it() {
    let room = Room::new();
    let id = start(&room, "bash").await;
    let tool = (TOOL.build)(&room.ports);
    let write = |data: &str| json!({ "action": "write", "session_id": id, "data": data });
    let shell = |text: &str| Some(format!("bash <<'PETASOS_TYPED'\n{text}\nPETASOS_TYPED"));
    assert_eq!(judged(&*tool, &room, &id, "ls").await, shell("ls"));
    room.call(&*tool, write("ec")).await;
    assert_eq!(judged(&*tool, &room, &id, "ho x").await, shell("echo x"));
    room.call(&*tool, write("ho x\ncd /\nalias z=true\n")).await;
    assert_eq!(judged(&*tool, &room, &id, "z y").await, shell("cd /\nalias z=true\nz y"));
    assert_eq!(judged(&*tool, &room, &id, "").await, None);
    // Only a terminal makes an interrupt of that key: a pipe hands it on as text.
    room.call(&*tool, write("half\u{3}")).await;
    assert_eq!(judged(&*tool, &room, &id, "z").await, shell("cd /\nalias z=true\nhalf\u{3}z"));
    process(&room, json!({ "action": "kill", "session_id": id })).await;
}

#[tokio::test]
async fn two_pieces_that_were_judged_apart_do_not_make_a_line_together() {
    let room = Room::new();
    let id = start(&room, "cat").await;
    let tool = (TOOL.build)(&room.ports);
    let args = |data: &str| {
        let args = json!({ "action": "write", "session_id": id, "data": data });
        petasos_contract::Args::try_from(args).unwrap()
    };
    let (first, second) = (args("rm -r"), args("f victim\n"));
    let first = tool.plan(first, &room.cx).await.unwrap();
    let second = tool.plan(second, &room.cx).await.unwrap();
    for (plan, status) in [(first, "ok"), (second, "error")] {
        let cleared = petasos_contract::Cleared::new(plan);
        let told = tool.run(cleared, &room.cx).await.unwrap();
        let petasos_contract::ToolOutput::Text(text) = told else { panic!() };
        let told: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["status"], status, "{told}");
    }
    process(&room, json!({ "action": "kill", "session_id": id })).await;
}
