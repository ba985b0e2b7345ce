//! Every row of the tool table in one run: an editor with a panel, one conversation, and everything
//! that a tool can need really there, as a service or as a double that knows the vendor's published
//! interface. Each tool is called with the first of its examples, so that the reference pages show
//! calls that work; names that only this world knows take the place of the examples' own.

#[cfg(test)]
#[path = "../../../petasos-tools/tests/it/double.rs"]
mod double;
mod found;
#[cfg(test)]
#[path = "../../../petasos-tools/tests/it/screen.rs"]
mod screen;
mod site;
#[cfg(test)]
#[path = "../../../petasos-tools/tests/it/trainer_tree.rs"]
mod trainer_tree;
mod vendors;
mod walker;
mod world;
#[cfg(test)]
#[path = "../../../petasos-tools/tests/it/yuanbao_vendor.rs"]
mod yuanbao_vendor;

use std::collections::BTreeSet;

use petasos_agent::LOOP_TOOLS;
use petasos_contract::ToolDef;
use petasos_tools::BUILTIN;
use serde_json::{Value, json};

use crate::acp::editor::Editor;
use crate::loopback::Loopback;

use walker::{Step, Walker, also, call, with};
use world::World;

const TEST: &str = "every_row_runs_one_real_call_in_one_conversation";

/// The table gives these to models on Discord alone.
const BY_HAND: [&str; 2] = ["discord", "discord_admin"];

fn tools() -> impl Iterator<Item = &'static ToolDef> {
    BUILTIN.iter().chain(LOOP_TOOLS).copied()
}

fn at_the_machine() -> Vec<Step> {
    vec![
        call("read_file"),
        call("search_files"),
        call("write_file"),
        call("patch"),
        call("terminal"),
        call("process"),
        call("execute_code"),
        call("todo"),
        call("memory"),
        call("session_search"),
        call("clarify"),
        call("skills_list"),
        call("skill_view"),
        call("skill_manage"),
        call("cronjob"),
    ]
}

/// The child that work is delegated to gives the sign of life of its own card.
fn at_the_board() -> Vec<Step> {
    let task: &[(&str, &str)] = &[("task_id", "kanban_create/task_id")];
    vec![
        call("kanban_create"),
        also("kanban_create", r#"{"title":"Brush the hats","assignee":"writer"}"#),
        with(
            "kanban_link",
            &[("parent_id", "kanban_create/task_id"), ("child_id", "also/task_id")],
        ),
        call("kanban_list"),
        with("kanban_comment", task),
        with("kanban_attach", task),
        with("kanban_attach_url", &[("task_id", "kanban_create/task_id"), ("url", "world/site")]),
        with("kanban_attachments", task),
        with("kanban_block", task),
        with("kanban_unblock", task),
        with("kanban_show", task),
        with("kanban_complete", task),
        call("delegate_task"),
    ]
}

fn pictures_and_words() -> Vec<Step> {
    ["text_to_speech", "image_generate", "vision_analyze", "video_analyze", "mixture_of_agents"]
        .map(call)
        .into()
}

fn films() -> Vec<Step> {
    ["video_generate", "xai_video_edit", "xai_video_extend"].map(call).into()
}

fn house_and_days() -> Vec<Step> {
    let event: &[(&str, &str)] = &[("id", "calendar_create/id")];
    vec![
        call("ha_list_entities"),
        call("ha_get_state"),
        call("ha_list_services"),
        call("ha_call_service"),
        call("calendar_list"),
        with("calendar_create", &[("calendar", "world/calendar")]),
        call("calendar_events"),
        with("calendar_update", event),
        with("calendar_delete", event),
        call("contacts"),
    ]
}

fn writing() -> Vec<Step> {
    let letter: &[(&str, &str)] = &[("to", "world/people"), ("subject", "world/subject")];
    vec![
        with("mail_send", letter),
        with("mail_draft", letter),
        call("notify"),
        call("send_message"),
    ]
}

fn reading() -> Vec<Step> {
    vec![
        with("mail_search", &[("subject", "world/subject")]),
        with("mail_read", &[("id", "mail_search/messages/0/id")]),
    ]
}

fn services() -> Vec<Step> {
    [
        "feishu_doc_read",
        "feishu_drive_list_comments",
        "feishu_drive_list_comment_replies",
        "feishu_drive_add_comment",
        "feishu_drive_reply_comment",
        "spotify_search",
        "spotify_albums",
        "spotify_devices",
        "spotify_library",
        "spotify_playback",
        "spotify_playlists",
        "spotify_queue",
        "x_search",
        "yb_query_group_info",
        "yb_query_group_members",
        "yb_search_sticker",
        "yb_send_dm",
        "yb_send_sticker",
    ]
    .map(call)
    .into()
}

fn web() -> Vec<Step> {
    vec![
        call("web_search"),
        with("web_extract", &[("urls", "world/pages")]),
        with("http_request", &[("url", "world/site")]),
        call("sql_query"),
    ]
}

fn in_a_browser() -> Vec<Step> {
    vec![
        with("browser_navigate", &[("url", "world/site")]),
        call("browser_snapshot"),
        with("browser_type", &[("ref", "world/field")]),
        call("browser_press"),
        call("browser_scroll"),
        call("browser_get_images"),
        call("browser_console"),
        call("browser_vision"),
        call("browser_cdp"),
        with("browser_click", &[("ref", "world/link")]),
        call("browser_back"),
        also("browser_console", r#"{"expression":"setTimeout(() => confirm('Sure?'), 0) > 0"}"#),
        call("browser_dialog"),
    ]
}

fn training() -> Vec<Step> {
    [
        "rl_list_environments",
        "rl_select_environment",
        "rl_get_current_config",
        "rl_edit_config",
        "rl_test_inference",
        "rl_start_training",
    ]
    .map(call)
    .into()
}

fn trained() -> Vec<Step> {
    let run: &[(&str, &str)] = &[("run_id", "rl_start_training/run_id")];
    vec![
        call("rl_list_runs"),
        with("rl_check_status", run),
        with("rl_get_results", run),
        with("rl_stop_training", run),
    ]
}

/// Last, because the conversation moves.
fn at_the_desk() -> Vec<Step> {
    vec![
        call("computer_use"),
        also("computer_use", r#"{"action":"click","coordinate":[100,100]}"#),
        call("read_terminal"),
        call("close_terminal"),
        call("project_create"),
        call("project_list"),
        call("project_switch"),
    ]
}

#[test]
fn every_row_runs_one_real_call_in_one_conversation() {
    let walker = Walker::default();
    let model = Loopback::answering(walker.model());
    let Some(world) = World::open(TEST, &model) else { return };
    walker.know("world", world.facts());
    let abilities =
        json!({ "_meta": { "petasos": { "panel": true } }, "elicitation": { "form": {} } });
    let mut editor = Editor::start_with(&world.home, |command| {
        command.env("DISPLAY", &world.screen.display).env("PATH", world.path());
    })
    .hello(&abilities);
    editor.form = json!({ "action": "accept", "content": { "answer": "felt" } });
    let session = editor.session(&world.home.workspace());
    let mut walk = |name: &str, steps: Vec<Step>| {
        walker.begin(steps);
        assert_eq!(editor.turn(&session, &format!("walk: {name}")), "end_turn", "{name}");
        walker.is_through(name);
    };
    walk("at the machine", at_the_machine());
    walk("at the board", at_the_board());
    walk("pictures and words", pictures_and_words());
    walk("films", films());
    walk("house and days", house_and_days());
    walk("writing", writing());
    world.letter_has_come();
    walk("reading", reading());
    walk("services", services());
    walk("web", web());
    walk("in a browser", in_a_browser());
    walk("training", training());
    world.training_runs();
    walk("trained", trained());
    // A tool that is new needs no line here, unless its example needs this world's names.
    let desk = at_the_desk();
    let known = walker.done();
    let is_new = |name: &&str| {
        !known.contains(*name) && !BY_HAND.contains(name) && desk.iter().all(|it| it.tool != *name)
    };
    walk("what is new", tools().map(|def| def.name).filter(is_new).map(call).collect());
    walk("at the desk", desk);
    for tool in BY_HAND {
        walker.by_hand(tool, |args| world.call(tool, args));
    }
    let all: BTreeSet<&str> = tools().map(|def| def.name).collect();
    let offered = walker.offered();
    let done = walker.done();
    let missing = |there: &dyn Fn(&str) -> bool, why: &str| {
        let without = all.iter().filter(|name| !there(name));
        without.map(|name| format!("{name}: {why}")).collect::<Vec<_>>()
    };
    let wrong = [
        missing(&|name| offered.contains(name), "it is not offered"),
        missing(&|name| done.contains(name), "it was never called"),
        walker.wrong(),
    ]
    .concat();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n\n"));
    assert!(all.len() >= 104, "{}", all.len());
    world.was_asked();
    // What moves something was asked about, and nothing that only looks.
    let asked = editor.asked.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    assert!(asked.contains("XTerm"), "a click is an effect: {asked}");
    keeps_secrets(editor, &model, &world);
}

/// E19 9: keys go to their services and nowhere else.
fn keeps_secrets(editor: Editor, model: &Loopback, world: &World) {
    let shown = editor.trace.iter().map(Value::to_string).collect();
    let heard = model.asked().iter().map(Value::to_string).collect();
    drop(editor);
    world.keeps_its_secrets(&[
        ("what the editor was shown", shown),
        ("what the model heard", heard),
    ]);
}
