//! Programs that run the command in the rest of their arguments: `sudo`, `env`,
//! `timeout`, `nohup` and their many relatives. A row each; no code.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper};

/// How to find the command in the arguments.
struct Row {
    names: &'static str,
    /// Options whose value is the next argument.
    values: &'static str,
    /// Operands before the command.
    skip: usize,
}

const fn row(names: &'static str, values: &'static str, skip: usize) -> Row {
    Row { names, values, skip }
}

const ROWS: &[Row] = &[
    row(
        "sudo",
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --prompt --host --chdir --chroot",
        0,
    ),
    row("doas", "-u -C", 0),
    row("pkexec", "--user", 0),
    row(
        "gosu su-exec s6-setuidgid taskset rr setarch pipx setlock envdir setuidgid envuidgid \
            uftrace onchange setuser envchain s6-envdir when-changed",
        "",
        1,
    ),
    row("setpriv", "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set", 0),
    row("chpst", "-u -U -e -m -d -n -l", 0),
    row("env", "-u -C --unset --chdir -P", 0),
    row("nice", "-n --adjustment", 0),
    row("ionice", "-c -n --class --classdata", 0),
    row("chrt", "-T -P -D", 1),
    row(
        "nohup setsid command builtin noglob nocorrect then dtruss valgrind catchsegv linux32 \
            linux64 fakechroot firejail unbuffer torify tsocks prlimit dbus-run-session \
            dbus-launch eatmydata ccache busybox coreutils toybox bunx pnpx winpty ts pseudo \
            chronic ifne with-contenv catatonit run-one run-this-one pfexec gamemoderun \
            prime-run optirun mangohud box64 i386 i686 x86_64 uname26 distrobox-host-exec \
            host-spawn waitfor ptyrun faketty graftcp",
        "",
        0,
    ),
    row("time", "-f -o --format --output", 0),
    row("gtime", "-f -o", 0),
    row("timeout gtimeout", "-s -k --signal --kill-after", 1),
    row("stdbuf", "-i -o -e", 0),
    row("exec", "-a", 0),
    row("strace", "-e -o -p -s -u -E -P -a -b -I -O -S -X", 0),
    row("ltrace", "-e -o -p -s -u -n -a -l", 0),
    row("unshare", "--map-user --map-group -R --root -w --wd --setuid --setgid -S -G", 0),
    row("nsenter", "-t --target -S -G --setuid --setgid", 0),
    row("chroot", "--userspec --groups", 1),
    row("flock", "-w --timeout -E --conflict-exit-code", 1),
    row("lockf s6-setlock", "-t", 1),
    row("proot", "-r -b -w -q -R -S", 0),
    row("fakeroot", "-i -s -l", 0),
    row(
        "systemd-run",
        "-p --property -u --unit -M --slice --uid --gid -E --setenv --on-calendar --on-active \
            -H --description --working-directory",
        0,
    ),
    row("systemd-inhibit", "--what --who --why --mode", 0),
    row("caffeinate", "-t -w", 0),
    row("rlwrap", "-f -H -s", 0),
    row("torsocks", "-u -p", 0),
    row("proxychains proxychains4 godotenv proxychains-ng", "-f", 0),
    row("numactl", "-N -m -C", 0),
    row("cgexec", "-g", 0),
    row("runcon", "-t -u -r -l", 1),
    row("xvfb-run", "-n -s -e -f -p -w", 0),
    row("sshpass", "-p -f -d -P", 0),
    row("ld-linux-x86-64.so.2", "--library-path --preload --argv0", 0),
    row("ld-linux.so.2 ld-linux-aarch64.so.1 ld.so ld-musl-x86_64.so.1", "--library-path", 0),
    row("npx", "-p --package", 0),
    row("uvx", "--from --with", 0),
    row("dotenv", "-e -f", 0),
    row("dotenvx faketime", "-f", 1),
    row("daemonize", "-c -e -o -p -u -l", 0),
    row("daemon", "-n --name -u", 0),
    row("wsl", "-d -u --cd", 0),
    row("retry", "-t -d -n", 0),
    row("cpulimit", "-l -p", 0),
    row("schedtool", "-n -a", 0),
    row("trickle", "-d -u", 0),
    row("errno uidmapshift scriptreplay", "", 99),
    row("sem", "-j --id --jobs", 0),
    row("choom", "-n -p", 0),
    row("lckdo", "-w -W -q", 1),
    row("softlimit", "-m -d -s -l -a -o -p -f -c -t -r", 0),
    row("tini", "-p -e", 0),
    row("dumb-init", "-r --rewrite", 0),
    row("multitime", "-n -s -I -i -o -r -f", 0),
    row("aa-exec", "-p --profile -n", 0),
    row("sandbox-exec", "-f -p -n -D", 0),
    row("please", "-u --user", 0),
    row("dzdo", "-u -g", 0),
    row("gksudo gksu", "-u", 0),
    row("systemd-cat", "-t -p --identifier --priority", 0),
    row("nsjail", "-c -u -g --chroot --user", 0),
    row("minijail0", "-u -g -C -b -S", 0),
    row("schroot", "-c --chroot -u --user -d", 0),
    row("arch-chroot", "-u", 1),
    row("flatpak-spawn", "--env --directory", 0),
    row("qemu-x86_64-static", "-L -E", 0),
    row("dotenv-cli", "-e", 0),
    row("summon", "-f -p -e", 0),
    row("heaptrack flamegraph", "-o", 0),
    row("abduco", "-e", 1),
    row("reflex", "-r -g -R -G", 0),
    row("run0", "-u --user -g --unit -D --chdir", 0),
    row("sudo-rs", "-u -g -h -p -D -R --user --group --chdir", 0),
    row("envconsul", "-prefix -secret -config", 0),
    row("s6-softlimit", "-a -c -d -f -l -m -o -p -r -s -t", 0),
    row("s6-applyuidgid", "-u -g -G", 0),
    row("srun", "-n -N -p -t -c -J -o -e -w -A -q -D", 0),
    row("salloc", "-n -N -p -t -c -J -A -q", 0),
    row("mpirun", "-n -np -H -host -hostfile -x --hostfile", 0),
    row("mpiexec", "-n -np -H -host -hostfile -f", 0),
    row("samply", "-o -r", 1),
    row("timelimit", "-t -T -s -S", 0),
];

pub(super) static WRAPPER: Wrapper =
    Wrapper { names: "", rows: || ROWS.iter().map(|row| row.names).collect(), unwrap };

/// Programs that raise privileges.
const RAISING: [&str; 5] = ["sudo", "doas", "pkexec", "run0", "sudo-rs"];

/// `rimraf@5` is `rimraf`.
fn without_version(rest: &[Arg]) -> Vec<Arg> {
    let mut argv = rest.to_vec();
    if let Some(first) = argv.first_mut()
        && let Some((name, _)) = first.text.rsplit_once('@').filter(|(name, _)| !name.is_empty())
    {
        first.text = name.to_owned();
    }
    argv
}

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    let Some(row) = ROWS.iter().find(|row| lists(row.names, call.program)) else { return };
    inners.elevated = RAISING.contains(&call.program);
    inners.opaque = true;
    if call.program == "command" && (call.flag('v') || call.flag('V')) {
        return;
    }
    if call.program == "env"
        && let Some(text) = call.option(&["-S", "--split-string"])
    {
        inners.list.push(Inner::Shell(text, Vec::new()));
        return;
    }
    if matches!(call.program, "flock" | "npx")
        && let Some(text) = call.option(&["-c", "--command", "--call"])
    {
        inners.list.push(Inner::Shell(text, Vec::new()));
        return;
    }
    if matches!(call.program, "strace" | "ltrace") && call.option(&["-p"]).is_some() {
        return;
    }
    let skip = if call.program == "setarch" { architecture(call) } else { row.skip };
    let rest = command_after(call.args, row.values, skip);
    if rest.is_empty() {
        return;
    }
    if call.program == "sudo"
        && call
            .args
            .iter()
            .take_while(|arg| arg.text.starts_with('-'))
            .any(|arg| arg.is("-e") || arg.is("--edit"))
    {
        return;
    }
    let before = call.args.len() - rest.len();
    inners.cwd = directory(
        call.program,
        &Call { args: call.args.get(..before).unwrap_or_default(), ..*call },
    );
    for arg in call.args.iter().take(before).filter(|arg| is_assignment(&arg.text)) {
        if let Some((name, value)) = arg.text.split_once('=') {
            let value = arg.with_text(value);
            inners.assigns.push((name.to_owned(), value));
        }
    }
    let unversioned;
    let rest = if matches!(call.program, "npx" | "bunx" | "pnpx") {
        unversioned = without_version(rest);
        unversioned.as_slice()
    } else {
        rest
    };
    match rest {
        [code]
            if code.text.contains(' ')
                && !matches!(call.program, "exec" | "command" | "builtin") =>
        {
            inners.list.push(Inner::Shell(code.clone(), Vec::new()));
        }
        rest => inners.list.push(Inner::Argv(rest.to_vec())),
    }
}

/// The directory that the options of a wrapper name for its command.
fn directory(name: &str, options: &Call<'_>) -> Option<Arg> {
    options.option(match name {
        "env" => &["-C", "--chdir"],
        "sudo" => &["-D", "--chdir"],
        "systemd-run" => &["--working-directory"],
        "nsenter" | "unshare" => &["-w", "--wd"],
        "flatpak-spawn" => &["--directory"],
        _ => return None,
    })
}

/// `setarch` takes a name of a machine in front of the command, or none.
fn architecture(call: &Call<'_>) -> usize {
    let first = call.operand(0);
    usize::from(
        ["i386", "i486", "i586", "i686", "x86_64", "linux32", "linux64", "uname26"]
            .contains(&first)
            || ["arm", "aarch", "ppc", "s390", "mips", "sparc", "riscv", "alpha", "athlon"]
                .iter()
                .any(|stem| first.starts_with(stem)),
    )
}

/// The arguments from the first that is neither option, value nor assignment.
pub(super) fn command_after<'c>(args: &'c [Arg], values: &str, skip: usize) -> &'c [Arg] {
    let mut at = 0;
    let mut skip = skip;
    while let Some(arg) = args.get(at) {
        if arg.is("--") {
            return args.get(at + 1 + skip..).unwrap_or_default();
        }
        if arg.text.len() > 1 && arg.text.starts_with('-') {
            at += if lists(values, &arg.text) || cluster_takes_value(&arg.text, values) {
                2
            } else {
                1
            };
        } else if is_assignment(&arg.text) {
            at += 1;
        } else if skip > 0 {
            skip -= 1;
            at += 1;
        } else {
            return args.get(at..).unwrap_or_default();
        }
    }
    &[]
}

/// `-iu user`: the last letter of a cluster takes the next argument as its value.
fn cluster_takes_value(text: &str, values: &str) -> bool {
    let letters: Vec<char> = text.chars().skip(1).collect();
    let takes =
        |letter: Option<&char>| letter.is_some_and(|letter| lists(values, &format!("-{letter}")));
    letters.len() > 1
        && letters.len() < 5
        && !text.starts_with("--")
        && !letters.iter().rev().skip(1).any(|letter| takes(Some(letter)))
        && takes(letters.last())
}

pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// As [`command_after`], for programs that take no assignments.
pub(super) fn command_after_options<'c>(args: &'c [Arg], values: &str) -> &'c [Arg] {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        if arg.is("--") {
            return args.get(at + 1..).unwrap_or_default();
        }
        if arg.text.len() < 2 || !arg.text.starts_with('-') {
            break;
        }
        at += if lists(values, &arg.text) { 2 } else { 1 };
    }
    args.get(at..).unwrap_or_default()
}
