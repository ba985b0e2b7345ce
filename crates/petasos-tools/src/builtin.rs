//! Index of the built-in tools. Kept in step with the folder by the build; do not edit.

mod browser_back;
mod browser_cdp;
mod browser_click;
mod browser_console;
mod browser_dialog;
mod browser_get_images;
mod browser_navigate;
mod browser_press;
mod browser_scroll;
mod browser_snapshot;
mod browser_type;
mod browser_vision;
mod calendar_create;
mod calendar_delete;
mod calendar_events;
mod calendar_list;
mod calendar_update;
mod close_terminal;
mod computer_use;
mod contacts;
mod cronjob;
mod discord;
mod discord_admin;
mod execute_code;
mod feishu_doc_read;
mod feishu_drive_add_comment;
mod feishu_drive_list_comment_replies;
mod feishu_drive_list_comments;
mod feishu_drive_reply_comment;
mod ha_call_service;
mod ha_get_state;
mod ha_list_entities;
mod ha_list_services;
mod http_request;
mod image_generate;
mod kanban_attach;
mod kanban_attach_url;
mod kanban_attachments;
mod kanban_block;
mod kanban_comment;
mod kanban_complete;
mod kanban_create;
mod kanban_heartbeat;
mod kanban_link;
mod kanban_list;
mod kanban_show;
mod kanban_unblock;
mod mail_draft;
mod mail_read;
mod mail_search;
mod mail_send;
mod mixture_of_agents;
mod notify;
mod patch;
mod process;
mod project_create;
mod project_list;
mod project_switch;
mod read_file;
mod read_terminal;
mod rl_check_status;
mod rl_edit_config;
mod rl_get_current_config;
mod rl_get_results;
mod rl_list_environments;
mod rl_list_runs;
mod rl_select_environment;
mod rl_start_training;
mod rl_stop_training;
mod rl_test_inference;
mod search_files;
mod send_message;
mod skill_manage;
mod skill_view;
mod skills_list;
mod spotify_albums;
mod spotify_devices;
mod spotify_library;
mod spotify_playback;
mod spotify_playlists;
mod spotify_queue;
mod spotify_search;
mod sql_query;
mod terminal;
mod text_to_speech;
mod video_analyze;
mod video_generate;
mod vision_analyze;
mod web_extract;
mod web_search;
mod write_file;
mod x_search;
mod xai_video_edit;
mod xai_video_extend;
mod yb_query_group_info;
mod yb_query_group_members;
mod yb_search_sticker;
mod yb_send_dm;
mod yb_send_sticker;

use petasos_contract::{ToolDef, define};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static BUILTIN: &[&ToolDef] = &[
    &browser_back::TOOL,
    &browser_cdp::TOOL,
    &browser_click::TOOL,
    &browser_console::TOOL,
    &browser_dialog::TOOL,
    &browser_get_images::TOOL,
    &browser_navigate::TOOL,
    &browser_press::TOOL,
    &browser_scroll::TOOL,
    &browser_snapshot::TOOL,
    &browser_type::TOOL,
    &browser_vision::TOOL,
    &calendar_create::TOOL,
    &calendar_delete::TOOL,
    &calendar_events::TOOL,
    &calendar_list::TOOL,
    &calendar_update::TOOL,
    &close_terminal::TOOL,
    &computer_use::TOOL,
    &contacts::TOOL,
    &cronjob::TOOL,
    &discord::TOOL,
    &discord_admin::TOOL,
    &execute_code::TOOL,
    &feishu_doc_read::TOOL,
    &feishu_drive_add_comment::TOOL,
    &feishu_drive_list_comment_replies::TOOL,
    &feishu_drive_list_comments::TOOL,
    &feishu_drive_reply_comment::TOOL,
    &ha_call_service::TOOL,
    &ha_get_state::TOOL,
    &ha_list_entities::TOOL,
    &ha_list_services::TOOL,
    &http_request::TOOL,
    &image_generate::TOOL,
    &kanban_attach::TOOL,
    &kanban_attach_url::TOOL,
    &kanban_attachments::TOOL,
    &kanban_block::TOOL,
    &kanban_comment::TOOL,
    &kanban_complete::TOOL,
    &kanban_create::TOOL,
    &kanban_heartbeat::TOOL,
    &kanban_link::TOOL,
    &kanban_list::TOOL,
    &kanban_show::TOOL,
    &kanban_unblock::TOOL,
    &mail_draft::TOOL,
    &mail_read::TOOL,
    &mail_search::TOOL,
    &mail_send::TOOL,
    &mixture_of_agents::TOOL,
    &notify::TOOL,
    &patch::TOOL,
    &process::TOOL,
    &project_create::TOOL,
    &project_list::TOOL,
    &project_switch::TOOL,
    &read_file::TOOL,
    &read_terminal::TOOL,
    &rl_check_status::TOOL,
    &rl_edit_config::TOOL,
    &rl_get_current_config::TOOL,
    &rl_get_results::TOOL,
    &rl_list_environments::TOOL,
    &rl_list_runs::TOOL,
    &rl_select_environment::TOOL,
    &rl_start_training::TOOL,
    &rl_stop_training::TOOL,
    &rl_test_inference::TOOL,
    &search_files::TOOL,
    &send_message::TOOL,
    &skill_manage::TOOL,
    &skill_view::TOOL,
    &skills_list::TOOL,
    &spotify_albums::TOOL,
    &spotify_devices::TOOL,
    &spotify_library::TOOL,
    &spotify_playback::TOOL,
    &spotify_playlists::TOOL,
    &spotify_queue::TOOL,
    &spotify_search::TOOL,
    &sql_query::TOOL,
    &terminal::TOOL,
    &text_to_speech::TOOL,
    &video_analyze::TOOL,
    &video_generate::TOOL,
    &vision_analyze::TOOL,
    &web_extract::TOOL,
    &web_search::TOOL,
    &write_file::TOOL,
    &x_search::TOOL,
    &xai_video_edit::TOOL,
    &xai_video_extend::TOOL,
    &yb_query_group_info::TOOL,
    &yb_query_group_members::TOOL,
    &yb_search_sticker::TOOL,
    &yb_send_dm::TOOL,
    &yb_send_sticker::TOOL,
];

const _: () = define::unique(BUILTIN);
