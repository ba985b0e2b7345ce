//! Whose words the results of tools are, by name: line 26 of the acceptance list of everyday tools.

use petasos_contract::tool::Provenance;
use petasos_tools::BUILTIN;

/// Always written by strangers.
const FOREIGN: &str = "browser_back browser_cdp browser_click browser_console browser_dialog \
    browser_get_images browser_navigate browser_press browser_scroll browser_snapshot browser_type \
    browser_vision web_extract web_search x_search discord discord_admin feishu_doc_read \
    feishu_drive_add_comment feishu_drive_list_comment_replies feishu_drive_list_comments \
    feishu_drive_reply_comment yb_query_group_info yb_query_group_members yb_send_dm yb_send_sticker \
    spotify_albums spotify_devices spotify_library spotify_playback spotify_playlists spotify_queue \
    spotify_search vision_analyze video_analyze computer_use http_request sql_query mail_read \
    mail_search calendar_list calendar_events contacts read_terminal";

/// Labelled by what is in the result: the same tool gives strangers' words or the user's own.
const BY_RESULT: &str = "ha_get_state ha_list_entities ha_list_services ha_call_service \
    kanban_show kanban_list read_file search_files terminal process execute_code";

#[test]
fn e26_every_tool_says_whose_words_it_brings() {
    let foreign: Vec<&str> = FOREIGN.split_whitespace().collect();
    let by_result: Vec<&str> = BY_RESULT.split_whitespace().collect();
    for name in &foreign {
        assert!(BUILTIN.iter().any(|tool| tool.name == *name), "there is no {name}");
    }
    for tool in BUILTIN {
        let expected = foreign.contains(&tool.name);
        let is = tool.provenance == Provenance::Foreign;
        assert_eq!(is, expected, "{}", tool.name);
        assert!(!(is && by_result.contains(&tool.name)), "{} is both", tool.name);
    }
}
