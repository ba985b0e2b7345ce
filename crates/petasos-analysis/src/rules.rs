//! Index of the rules: what is blocked and what is asked about. Kept in step with the folder by the build; do not edit.

mod accounts;
mod agent_control;
mod agent_self_harm;
mod agent_settings;
mod bulk_delete;
mod chown_root;
mod cloud_delete;
mod cluster_delete;
mod containers;
mod credential_write;
mod crontab;
mod decoded_code;
mod disk_format;
mod disk_write;
mod exfiltration;
mod firewall;
mod force_kill;
mod fork_bomb;
mod git_discard;
mod git_history;
mod git_remote;
mod hidden_name;
mod key_implant;
mod kill_all;
mod limits;
mod malformed;
mod mounts;
mod opaque_code;
mod packages;
mod permission_sweep;
mod persistence;
mod power;
mod publish;
mod read_tool_program;
mod recursive_delete;
mod remote_code;
mod reverse_shell;
mod secret_read;
mod security_off;
mod sensitive_delete;
mod services;
mod setuid;
mod snapshot_delete;
mod sql;
mod startup_write;
mod sudo_flags;
mod system_delete;
mod system_write;
mod world_writable;

use crate::rule::Rule;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static RULES: &[&Rule] = &[
    &accounts::RULE,
    &agent_control::RULE,
    &agent_self_harm::RULE,
    &agent_settings::RULE,
    &bulk_delete::RULE,
    &chown_root::RULE,
    &cloud_delete::RULE,
    &cluster_delete::RULE,
    &containers::RULE,
    &credential_write::RULE,
    &crontab::RULE,
    &decoded_code::RULE,
    &disk_format::RULE,
    &disk_write::RULE,
    &exfiltration::RULE,
    &firewall::RULE,
    &force_kill::RULE,
    &fork_bomb::RULE,
    &git_discard::RULE,
    &git_history::RULE,
    &git_remote::RULE,
    &hidden_name::RULE,
    &key_implant::RULE,
    &kill_all::RULE,
    &limits::RULE,
    &malformed::RULE,
    &mounts::RULE,
    &opaque_code::RULE,
    &packages::RULE,
    &permission_sweep::RULE,
    &persistence::RULE,
    &power::RULE,
    &publish::RULE,
    &read_tool_program::RULE,
    &recursive_delete::RULE,
    &remote_code::RULE,
    &reverse_shell::RULE,
    &secret_read::RULE,
    &security_off::RULE,
    &sensitive_delete::RULE,
    &services::RULE,
    &setuid::RULE,
    &snapshot_delete::RULE,
    &sql::RULE,
    &startup_write::RULE,
    &sudo_flags::RULE,
    &system_delete::RULE,
    &system_write::RULE,
    &world_writable::RULE,
];
