//! Keys of the `terminal` section: where commands run and how they are held in.

use super::Kind::{Any, Choice, Flag, Integer, Map, Names, Number, Text};
use super::Stricter::{Off, Order, Smaller};
use super::{Key, key};

const IMAGE: &str = "\"nikolaik/python-nodejs:python3.11-nodejs20\"";

// One row a line reads as a table.
#[rustfmt::skip]
pub(super) static KEYS: &[Key] = &[
    key("terminal.backend", Text, "\"local\"", "Where commands run: local, docker, ssh, singularity, modal, daytona, vercel_sandbox"),
    key("terminal.cwd", Text, "\".\"", "Working directory of the first command"),
    key("terminal.timeout", Number, "180", "Seconds a command may take when the call does not say").tighten(Smaller),
    key("terminal.max_foreground_timeout", Number, "600", "The most seconds a call may ask for in the foreground").tighten(Smaller),
    key("terminal.lifetime_seconds", Number, "300", "Seconds an idle environment is kept"),
    key("terminal.daemon_term_grace_seconds", Number, "2.0", "Seconds between asking a process to end and ending it"),
    key("terminal.disk_warning_gb", Number, "500", "Warn when scratch space holds more gigabytes").reserved("a watch over scratch space"),
    key("terminal.env_passthrough", Names, "[]", "Variables that commands may see"),
    key("terminal.home_mode", Choice(&["auto", "real", "profile"]), "\"auto\"", "Which home directory commands see"),
    key("terminal.shell_init_files", Names, "[]", "Files sourced before the first command"),
    key("terminal.auto_source_bashrc", Flag, "true", "Source the login files when no init files are named"),
    key("terminal.credential_files", Any, "[]", "Files of the agent home offered to remote environments"),
    key("terminal.persistent_shell", Flag, "true", "Keep variables and directory between commands").reserved("shells that forget"),
    key("terminal.sandbox", Choice(&["off", "workspace", "readonly"]), "\"off\"", "How far local commands are confined; unattended runs default to `workspace`")
        .tighten(Order(&["off", "workspace", "readonly"])),
    key("terminal.sandbox_require", Choice(&["preferred", "required"]), "\"preferred\"", "Whether a command runs when the confinement cannot be had")
        .tighten(Order(&["preferred", "required"])),
    key("terminal.sandbox_network", Flag, "true", "Whether a confined command may use the network").tighten(Off),
    key("terminal.sandbox_writable", Names, "[]", "Paths that a confined command may write besides the workspace"),
    key("terminal.sandbox_by", Choice(&["auto", "landlock", "bwrap"]), "\"auto\"", "What confines: Landlock where the kernel has it, else bubblewrap"),
    key("terminal.sandbox_dir", Text, "", "Where persistent environments keep their files"),
    key("terminal.scratch_dir", Text, "", "Where singularity keeps its scratch files"),
    key("terminal.container_cpu", Number, "1", "CPUs of a container"),
    key("terminal.container_memory", Integer, "5120", "Megabytes of memory of a container"),
    key("terminal.container_disk", Integer, "51200", "Megabytes of disk of a container"),
    key("terminal.container_persistent", Flag, "true", "Keep a container's files between sessions"),
    key("terminal.docker_image", Text, IMAGE, "Image of the docker environment"),
    key("terminal.docker_network", Flag, "true", "Whether containers have a network"),
    key("terminal.docker_read_only", Flag, "false", "Make the root of containers read-only"),
    key("terminal.docker_volumes", Names, "[]", "Mounts of the docker environment"),
    key("terminal.docker_mount_cwd_to_workspace", Flag, "false", "Mount the working directory at /workspace"),
    key("terminal.docker_run_as_host_user", Flag, "false", "Run as the user's own id"),
    key("terminal.docker_env", Map, "{}", "Variables set in the container"),
    key("terminal.docker_forward_env", Names, "[]", "Variables handed into the container"),
    key("terminal.docker_extra_args", Names, "[]", "More arguments for the container engine"),
    key("terminal.docker_persist_across_processes", Flag, "true", "Find and reuse a running container"),
    key("terminal.docker_orphan_reaper", Flag, "true", "Remove containers that earlier runs left behind"),
    key("terminal.singularity_image", Text, "\"docker://nikolaik/python-nodejs:python3.11-nodejs20\"", "Image of the singularity environment"),
    key("terminal.singularity_binds", Names, "[]", "Host folders in the singularity environment, as `host:target[:ro]`"),
    key("terminal.modal_image", Text, IMAGE, "Image of the modal environment"),
    key("terminal.modal_mode", Choice(&["auto", "direct", "managed"]), "\"auto\"", "How modal is reached"),
    key("terminal.managed_modal_timeout", Number, "", "Seconds a managed modal call may take").reserved("managed Modal"),
    key("terminal.daytona_image", Text, IMAGE, "Image of the daytona environment"),
    key("terminal.vercel_runtime", Text, "", "Runtime of the vercel sandbox"),
    key("terminal.ssh_host", Text, "", "Host of the ssh environment"),
    key("terminal.ssh_user", Text, "", "User of the ssh environment"),
    key("terminal.ssh_port", Integer, "22", "Port of the ssh environment"),
    key("terminal.ssh_key", Text, "", "Key file of the ssh environment"),
    key("terminal.ssh_config", Text, "", "ssh configuration file in place of your own"),
    key("terminal.ssh_persistent", Flag, "", "Keep the remote shell between commands").reserved("shells that forget"),
    key("terminal.local_persistent", Flag, "", "Keep the local shell between commands").reserved("shells that forget"),
];
