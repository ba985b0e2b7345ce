//! Programs that run the command in the rest of their arguments: `sudo`, `env`,
//! `timeout`, `nohup` and their many relatives. A row each; no code.

use crate::wrapper::{Row, Wrapper, after};

pub(super) static WRAPPER: Wrapper = Wrapper { rows: ROWS, names: "", unwrap: |_, _| {} };

const ROWS: &[Row] = &[
    after(
        "sudo",
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --prompt --host --chdir --chroot",
        0,
    )
    .raised()
    .at("-D --chdir")
    .unless("-e --edit"),
    after("doas", "-u -C", 0).raised(),
    after("pkexec", "--user", 0).raised(),
    after(
        "gosu su-exec s6-setuidgid taskset rr pipx setlock envdir setuidgid envuidgid uftrace \
         onchange setuser envchain s6-envdir when-changed",
        "",
        1,
    ),
    after("setpriv", "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set", 0),
    after("chpst", "-u -U -e -m -d -n -l", 0),
    after("env", "-u -C --unset --chdir -P", 0).or("-S --split-string").at("-C --chdir"),
    after("nice", "-n --adjustment", 0),
    after("ionice", "-c -n --class --classdata", 0),
    after("chrt", "-T -P -D", 1),
    after(
        "nohup setsid builtin noglob nocorrect then dtruss valgrind catchsegv linux32 linux64 \
         fakechroot firejail unbuffer torify tsocks prlimit dbus-run-session dbus-launch eatmydata \
         ccache busybox coreutils toybox bunx pnpx winpty ts pseudo chronic ifne with-contenv \
         catatonit run-one run-this-one pfexec gamemoderun prime-run optirun mangohud box64 \
         setarch i386 i486 i586 i686 x86_64 uname26 arm64 armv7l aarch64 ppc64 ppc64le s390 s390x \
         mips mips64 sparc sparc64 riscv64 alpha athlon distrobox-host-exec host-spawn waitfor \
         ptyrun faketty graftcp",
        "",
        0,
    ),
    after("time", "-f -o --format --output", 0),
    after("gtime", "-f -o", 0),
    after("timeout gtimeout", "-s -k --signal --kill-after", 1),
    after("stdbuf", "-i -o -e", 0),
    after("exec", "-a", 0),
    after("strace", "-e -o -p -s -u -E -P -a -b -I -O -S -X", 0).unless("-p"),
    after("ltrace", "-e -o -p -s -u -n -a -l", 0).unless("-p"),
    after("unshare", "--map-user --map-group -R --root -w --wd --setuid --setgid -S -G", 0)
        .at("-w --wd"),
    after("nsenter", "-t --target -S -G --setuid --setgid", 0).at("-w --wd"),
    after("chroot", "--userspec --groups", 1),
    after("flock", "-w --timeout -E --conflict-exit-code", 1).or("-c --command"),
    after("lockf s6-setlock", "-t", 1),
    after("proot", "-r -b -w -q -R -S", 0),
    after("fakeroot", "-i -s -l", 0),
    after(
        "systemd-run",
        "-p --property -u --unit -M --slice --uid --gid -E --setenv --on-calendar --on-active -H \
         --description --working-directory",
        0,
    )
    .at("--working-directory"),
    after("systemd-inhibit", "--what --who --why --mode", 0),
    after("caffeinate", "-t -w", 0),
    after("rlwrap", "-f -H -s", 0),
    after("torsocks", "-u -p", 0),
    after("proxychains proxychains4 godotenv proxychains-ng", "-f", 0),
    after("numactl", "-N -m -C", 0),
    after("cgexec", "-g", 0),
    after("runcon", "-t -u -r -l", 1),
    after("xvfb-run", "-n -s -e -f -p -w", 0),
    after("sshpass", "-p -f -d -P", 0),
    after("ld-linux-x86-64.so.2", "--library-path --preload --argv0", 0),
    after("ld-linux.so.2 ld-linux-aarch64.so.1 ld.so ld-musl-x86_64.so.1", "--library-path", 0),
    after("npx", "-p --package", 0).or("-c --call"),
    after("uvx", "--from --with", 0),
    after("dotenv", "-e -f", 0),
    after("dotenvx faketime", "-f", 1),
    after("daemonize", "-c -e -o -p -u -l", 0),
    after("daemon", "-n --name -u", 0),
    after("wsl", "-d -u --cd", 0),
    after("retry", "-t -d -n", 0),
    after("cpulimit", "-l -p", 0),
    after("schedtool", "-n -a", 0),
    after("trickle", "-d -u", 0),
    after("sem", "-j --id --jobs", 0),
    after("choom", "-n -p", 0),
    after("lckdo", "-w -W -q", 1),
    after("softlimit", "-m -d -s -l -a -o -p -f -c -t -r", 0),
    after("tini", "-p -e", 0),
    after("dumb-init", "-r --rewrite", 0),
    after("multitime", "-n -s -I -i -o -r -f", 0),
    after("aa-exec", "-p --profile -n", 0),
    after("sandbox-exec", "-f -p -n -D", 0),
    after("please", "-u --user", 0),
    after("dzdo", "-u -g", 0),
    after("gksudo gksu", "-u", 0),
    after("systemd-cat", "-t -p --identifier --priority", 0),
    after("nsjail", "-c -u -g --chroot --user", 0),
    after("minijail0", "-u -g -C -b -S", 0),
    after("schroot", "-c --chroot -u --user -d", 0),
    after("arch-chroot", "-u", 1),
    after("flatpak-spawn", "--env --directory", 0).at("--directory"),
    after("qemu-x86_64-static", "-L -E", 0),
    after("dotenv-cli", "-e", 0),
    after("summon", "-f -p -e", 0),
    after("heaptrack flamegraph", "-o", 0),
    after("abduco", "-e", 1),
    after("reflex", "-r -g -R -G", 0),
    after("run0", "-u --user -g --unit -D --chdir", 0).raised().at("-D --chdir"),
    after("sudo-rs", "-u -g -h -p -D -R --user --group --chdir", 0)
        .raised()
        .at("-D --chdir")
        .unless("-e --edit"),
    after("envconsul", "-prefix -secret -config", 0),
    after("s6-softlimit", "-a -c -d -f -l -m -o -p -r -s -t", 0),
    after("s6-applyuidgid", "-u -g -G", 0),
    after("srun", "-n -N -p -t -c -J -o -e -w -A -q -D", 0),
    after("salloc", "-n -N -p -t -c -J -A -q", 0),
    after("mpirun", "-n -np -H -host -hostfile -x --hostfile", 0),
    after("mpiexec", "-n -np -H -host -hostfile -f", 0),
    after("samply", "-o -r", 1),
    after("timelimit", "-t -T -s -S", 0),
    after("command", "", 0).unless("-v -V -pv -pV"),
];
