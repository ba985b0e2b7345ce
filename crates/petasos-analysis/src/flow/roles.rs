//! What the words of a call mean where no table knows the program: verbs that take something away,
//! paths behind options that name an output, credentials that are read, disks that are written.

use super::call::Call;
use super::embedded::DATA;
use super::engine::Engine;
use super::guess::PLAIN;
use super::report::{Deed, render};
use super::value::Arg;
use crate::code::verbs;
use crate::path::{self, Target};
use crate::rule::{self, Signal};
use crate::words::{ends, lists};

/// Verbs that take something away for good.
const DELETES: &str = "delete deleteall deletecollection destroy purge wipe drop nuke terminate erase teardown undeploy \
    decommission deprovision flushall flushdb flush truncate obliterate rmr unlink-all destroy-all expunge trash \
    deregister revoke dropunused deauthorize down reset-all wipeall removeall clear-all zap deallocate unregister dropdb rmtree gc";
/// Verbs that do so where they are forced, or where a noun stands in front of them.
const TAKES: &str = "rm remove reset uninstall prune empty forget cleanup clean del clear";
/// Options that are such a verb.
const ENDING: &str = "--destroy --purge --wipe --down --terminate --force-delete --nuke --drop --delete \
    --unregister --remove-all --erase --delete-branch";
/// Options that are a verb which ends something, and options whose value is the verb.
const ENDS: &str = "--kill --stop --shutdown --deactivate --unload --disconnect --disable --uninstall -stop \
    -shutdown -kill --remove --unpublish";
const OPERATIONS: &str =
    "--op --operation --action --mode --command --method --verb -k -s --do --cmd";
/// What is taken away where it stands behind its verb.
const NOUNS: &str = "pod client user account node cluster instance vm server domain volume disk db database bucket \
    queue topic host group tenant namespace member key cert site app project path";
/// Verbs that end something which runs.
const STOPS: &str = "stop shutdown kill disable restart halt suspend reboot hibernate poweroff quit terminate-all drain evict cordon stopall killall leave stepdown deactivate";
/// Verbs that show something to the world.
const PUBLISHES: &str = "publish release unpublish yank";
/// Words in front of which a verb is only a name, and options with which it is a rehearsal.
const HARMLESS: &str = "help list ls show describe get info status plan diff explain search view print \
    completion docs man run test exec new init create add config set log logs version check lint build \
    generate install edit format fmt watch serve start preview validate read query inspect";
const REHEARSED: &str = "--dry-run --dry_run --dryrun --help --whatif -whatif --check --preview --plan \
    --noop --simulate help --list --print --no-act --dry -help --list-targets --version --snapshot --preview-only -?";
/// Programs whose words are names of tasks, packages, tests, topics or text.
const NAMERS: &str = "make gmake bmake ninja just task rake npm yarn pnpm npx bunx bun gradle gradlew mvn \
    mvnw ant sbt mill lein mix cargo go poetry uv pip pip3 pipx conda mamba brew apt apt-get dnf yum zypper \
    pacman apk gem bundle composer nuget dotnet flutter dart opam cabal stack luarocks cpan cpanm rustup nvm \
    fnm volta asdf mise pyenv rbenv sdk code tmux screen zellij emacs vim nvim jest pytest vitest mocha rspec \
    tox nox bats ctest cmake meson bazel buck pants invoke inv fab doit git hg svn jj gh glab sed awk gawk \
    perl ruby python python3 node php lua deno R rscript julia tee tr cut sort uniq find fd locate apropos \
    dict look seq expr date cal bc sleep read export set alias unset declare local eval exec source trap wait \
    jobs fg bg cd pushd popd man curl wget ssh scp rsync docker podman kubectl systemctl launchctl service \
    psql mysql sqlite3 redis-cli mongosh ansible terraform tofu kill killall pkill xargs env sudo su doas \
    nice timeout watch time nohup strace ltrace gdb lldb valgrind bash sh zsh fish dash ksh nu pwsh \
    powershell cmd wsl hdparm ip nmcli iptables nft ufw firewall-cmd loginctl string passwd useradd usermod \
    userdel chsh virsh bpftrace perf ctags cscope gcc g++ clang rustc javac java scala kotlin swift ghc cp mv \
    ln rm rmdir install chmod chown chgrp stat file head tail less more wc diff cmp patch tar zip unzip gzip \
    zcat base64 openssl gpg dig host nslookup ping nc whois pgrep ps top htop petasos hermes cat last lastlog \
    command which type hash nproc tox pre-commit comm join paste column fold fmt nl tac rev shuf split csplit \
    playerctl mpc cmus-remote timew toggl watson zoxide watchman ccache sccache lsb_release adb fastboot \
    vagrant direnv chezmoi stow ctr runc zsh-bench hyperfine entr fzf sk tig lazygit";
/// Programs that use or protect a secret without showing it.
const KEEPERS: &str = "ssh scp sftp mosh ssh-add ssh-keygen ssh-copy-id autossh sshfs rsync ansible \
    ansible-playbook ls stat test [ chmod chown chgrp mkdir touch file find fd du wc sha256sum md5sum \
    shasum sha1sum cksum kubectl helm k9s stern aws gcloud az gpg age sops op pass vault openssl git \
    psql mysql curl wget docker podman terraform tofu npm pip twine cargo code vim nvim vi nano emacs \
    restic borg readlink realpath basename dirname lsattr getfacl namei cd pushd export source . \
    kubectx kubens direnv dotenv docker-compose flux argocd kustomize eksctl ls rm shred echo printf";
/// Parts of options that name a key to be used.
const KEYS: &str = "-i identity key cert kubeconfig config netrc credentials-file auth account pass \
    exclude ignore ca env-file -F cookie";
/// Options that name what is written.
const OUTPUTS: &str = "-o -O -w -d -D -P -s -keyout -key-file --key-file --result-file of out output outfile dest destdir DESTDIR prefix PREFIX target --out --output --outfile --output-file --output-dir --outdir --out-dir --dir \
    --directory --dest --destination --target --target-dir --target-directory --log --log-file --logfile --save \
    --write --write-out --to --prefix --one-top-level --save-to --export --dump --directory-prefix \
    --output-document --append-output --result --report --pidfile --pid-file -outdir -out --trace --html --install-dir --root --into --extract-to";
/// Options that change a file where it is.
const IN_PLACE: &str = "-replace -insert -remove -i -L --in-place --inplace -w --write --fix --edit ed -u --overwrite -W --replace --modify -I";
/// Words that write to a disk, as verb, option or part of a program's name.
const DISK_VERBS: &str = "restore write mkfs format wipe erase zero create init clone burn flash -z --zero-range \
    --wipe --erase --format --zap zap mklabel mkpart restoredisk restoreparts --write --restore \
    -w --punch-hole -p --autonuke secure-erase --clear labelclear mkpartfs part-init part-disk mkswap sanitize --overwrite -r --discard mktable rm";
const DISK_PROGRAMS: &str = "mk make- newfs write image etcher unmap format wipe erase flash burn restore clone zero nuke shred part \
    install discard nwipe fallocate";
/// Programs that only look at a disk, or attach it.
const DISK_READERS: &str = "ls lsblk blkid smartctl mount umount file stat cat head hexdump xxd od udevadm \
    findmnt df du eject lsof fuser swapon swapoff e2label tune2fs dumpe2fs fsck e2fsck blockdev sync \
    test [ echo printf readlink losetup udisksctl diskutil iostat fio cryptsetup partprobe hdparm nvme \
    fdisk parted sgdisk sfdisk gdisk mkdir touch grep find git man xfs_info debugfs chown chmod dd cp rm mdadm lvs pvs vgs \
    qemu-system-x86_64 docker podman picocom minicom screen cmp ddrescue wipefs sha256sum md5sum pv fdisk cfdisk mkfs mke2fs badblocks blkdiscard vgcreate vgextend tee lvextend resize2fs grub-probe partx";

impl Engine<'_> {
    /// Reads the words of a call about which nothing was found.
    pub(super) fn follow_roles(&mut self, call: &Call<'_>) {
        if lists(PLAIN, call.program) || !self.charge(call.args.len().min(32) * 200, call.span) {
            return;
        }
        self.follow_verb(call);
        self.follow_force(call);
        self.follow_disks(call);
        self.follow_paths(call);
    }

    fn follow_verb(&mut self, call: &Call<'_>) {
        let rehearsed = call
            .args
            .iter()
            .any(|arg| lists(REHEARSED, arg.text.to_ascii_lowercase().trim_end_matches("=true")));
        if call.name.text.contains('/') || lists(NAMERS, call.program) || rehearsed {
            return;
        }
        let signal = named(call.program).or_else(|| verb(call));
        if let Some(signal) = signal {
            let mut argv = vec![call.name.clone()];
            argv.extend(call.args.iter().take(16).cloned());
            self.report.signal(signal, call.span, render(&argv));
        }
    }

    /// `rip -rf x`: a program that nobody knows, called as a delete is.
    fn follow_force(&mut self, call: &Call<'_>) {
        let known =
            rule::knows(call.program) || lists(NAMERS, call.program) || lists(DATA, call.program);
        if known || !call.args.first().is_some_and(|arg| lists("-rf -fr -Rf -fR", &arg.text)) {
            return;
        }
        for operand in call.operands().take(16) {
            self.touch(Deed::TREE, operand, call);
        }
    }

    /// A plug-in of a builder that publishes.
    pub(super) fn follow_publishing(&mut self, call: &Call<'_>) {
        let rehearsed = call.args.iter().any(|arg| arg.is("-n") || lists(REHEARSED, &arg.text));
        let words = || call.operands().take(4).map(|arg| arg.text.as_str());
        if lists(
            "flutter dart cargo yarn pnpm npm npx lerna nx gradle mvn swift bun jsr deno",
            call.program,
        ) && !rehearsed
            && words().any(|word| word == "publish")
            && !words()
                .any(|word| lists("run run-script exec help test add install info view", word))
        {
            self.report.signal(Signal::Publish, call.span, call.name.text.clone());
        }
    }

    fn follow_disks(&mut self, call: &Call<'_>) {
        let lower = call.program;
        let writes = DISK_PROGRAMS.split_whitespace().any(|part| lower.contains(part))
            || call.args.iter().any(|arg| lists(DISK_VERBS, &arg.text));
        let shows =
            call.args.iter().any(|arg| lists("list info status show dump print --list", &arg.text));
        if lists(DISK_READERS, lower) || lower.starts_with("mkfs.") || shows {
            return;
        }
        let before = std::iter::once("").chain(call.args.iter().map(|arg| arg.text.as_str()));
        for (arg, before) in call.args.iter().zip(before).take(32) {
            let named = lists("-d --drive --device --disk --target -o --output --dest", before);
            if arg.text.contains(char::is_whitespace) || !writes && !named {
                continue;
            }
            let text = arg.text.rsplit(['=', ',']).next().unwrap_or_default();
            if text.starts_with("/dev/") && path::is_disk(text) {
                self.touch(Deed::Write, &arg.with_text(text), call);
            }
        }
    }

    /// Secrets that are read, and settings that are written behind an option.
    fn follow_paths(&mut self, call: &Call<'_>) {
        let keeper = lists(KEEPERS, call.program);
        let in_place = call.args.iter().any(|arg| lists(IN_PLACE, &arg.text));
        let converts = |(from, to): (&str, &str)| {
            let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
            !from.is_empty() && !to.is_empty() && plain(from) && plain(to)
        };
        let made =
            lists(MAKERS, call.program) || call.program.split_once('2').is_some_and(converts);
        let puts = lists(PUTS, call.operand(0)) && call.operands().count() > 2;
        let last = call.operands().last().filter(|_| made || puts);
        let mut before = "";
        for arg in call.args.iter().take(32) {
            let (name, value) = attached(&arg.text).unwrap_or((before, arg.text.as_str()));
            before = if arg.text.starts_with('-') { &arg.text } else { "" };
            if !value.contains(['/', '.']) || value.contains("://") {
                continue;
            }
            let value = value.rsplit('@').next().unwrap_or(value);
            let path = self.resolve(value);
            let word = arg.with_text(value);
            let key =
                name.starts_with('-') && KEYS.split_whitespace().any(|part| name.contains(part));
            let sends = lists("send upload share post put", call.operand(0));
            if sends && path::is_environment_file(&path) {
                self.report.signal(Signal::Exfiltration, call.span, call.name.text.clone());
            }
            if !keeper && !key && is_secret(&path, call) {
                self.touch(Deed::Read, &word, call);
            }
            let made = last.is_some_and(|last| std::ptr::eq(last, arg));
            let written = lists(OUTPUTS, name)
                || name.starts_with('-')
                    && ends("_out -out -destination -dest -jar -logfile", name)
                || made
                || in_place && !keeper && !arg.text.starts_with('-') && name != "-i";
            if written && !lists(LOOKERS, call.program) && is_sensitive(&path, call) {
                self.touch(Deed::Write, &word, call);
            }
        }
    }
}

/// Verbs whose last operand is where something is put.
const PUTS: &str = "export checkout co clone copy cp put extract download pull get fetch restore unpack write \
    save dump render generate convert decrypt";

/// Programs that make their last operand.
const MAKERS: &str = "zipfile tarfile uniq zip xxd script iconv unsquashfs pdftk qpdf gs inkscape sox lame mksquashfs \
    genisoimage mkisofs ar rar 7z 7za cabextract unrar unar pdftotext rsvg-convert wkhtmltopdf tidy \
    objcopy strip cwebp optipng jpegtran pngcrush mkfifo mknod m4 uglifyjs sass lessc stylus";

/// `--out=F`, `-oF`, `dest=F`: the name and what is given to it.
fn attached(text: &str) -> Option<(&str, &str)> {
    if let Some((name, value)) = text.split_once('=') {
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        return plain.then_some((name, value));
    }
    let (name, value) = text.split_at_checked(2)?;
    let short = name.starts_with('-') && !name.ends_with('-') && value.starts_with(['/', '~']);
    short.then_some((name, value))
}

/// Programs whose options of these names are no output.
const LOOKERS: &str = "ffmpeg scp sftp ls ps ssh mount lsof stat test [ find fd grep rg egrep diff du df tree git docker podman \
    systemctl journalctl kubectl nginx cut sort sudo env mkdir java python python3 node perl ruby php psql mysql bash sh zsh \
    date ping dig sshd visudo named-checkconf apachectl haproxy rsync tail head less wc shellcheck cc gcc g++ clang ld bpftrace \
    locate column realpath readlink watch install cp mv ln rm tar unzip useradd usermod who";

fn is_secret(path: &str, call: &Call<'_>) -> bool {
    path::is_secret(path, call.facts) || path.starts_with(".ssh/id_") && !path.ends_with(".pub")
}

fn is_sensitive(path: &str, call: &Call<'_>) -> bool {
    path::target(path, call.facts) != Target::Ordinary
}

/// What a verb, alone or at an end of a longer one, does.
fn meaning(word: &str) -> Option<Signal> {
    // A word in capitals is the method of a request, or a name.
    let capitals = word.len() > 1 && !word.bytes().any(|byte| byte.is_ascii_lowercase());
    let parts = verbs::words(word.rsplit([':', '.']).next().unwrap_or(word));
    let first = parts.first().filter(|_| !capitals)?;
    let last = parts.last().unwrap_or(first);
    // `user-del`, `admin-delete-user`: part of a longer one.
    let inner = |word: &String| lists("delete destroy purge terminate wipe", word);
    if parts.len() > 1 && last == "del" || parts.len() > 2 && parts.iter().any(inner) {
        return Some(Signal::CloudDelete);
    }
    let means = |list: &str| lists(list, word) || lists(list, first) || lists(list, last);
    if means(DELETES) {
        Some(Signal::CloudDelete)
    } else if means(STOPS) {
        Some(Signal::ServiceStop)
    } else if means(PUBLISHES) {
        Some(Signal::Publish)
    } else {
        None
    }
}

/// `lxc-destroy`, `kafka-server-stop.sh`: the verb is in the name of the program.
fn named(program: &str) -> Option<Signal> {
    let stem =
        [".sh", ".py", ".bat", ".pl", ".rb"].iter().find_map(|end| program.strip_suffix(end));
    let stem = stem.unwrap_or(program);
    // `ldapdelete`, `memcflush`: the verb ends the name.
    let joined = ["delete", "destroy", "purge", "flush"].iter().find_map(|verb| {
        stem.strip_suffix(verb).filter(|head| head.len() > 2).map(|head| (head, *verb))
    });
    // `Remove-ItemProperty`: a verb in front of what it is about.
    if let Some((verb, noun)) = stem.split_once('-')
        && lists(
            "remove clear uninstall disable stop restart unregister reset revoke suspend",
            verb,
        )
        && !lists("item variable host module job transcript history psbreakpoint process", noun)
    {
        return Some(if lists(STOPS, verb) { Signal::ServiceStop } else { Signal::CloudDelete });
    }
    let (head, tail) = stem.rsplit_once(['-', '.', '_']).or(joined)?;
    let verb =
        !head.is_empty() && (lists(DELETES, tail) || lists("stop kill publish disable", tail));
    verb.then(|| meaning(tail)).flatten()
}

/// The verb of a call: a plain word among the first ones that is no value of an option.
fn verb(call: &Call<'_>) -> Option<Signal> {
    let forced = call.args.iter().any(|arg| {
        lists("-r -R -f -rf -fr --force --recursive --all -a -y --yes -skipTrash", &arg.text)
    });
    let idle = call.args.iter().any(|arg| arg.text.ends_with("=0") || arg.is("0"));
    let mut after_option = false;
    let mut seen = 0;
    let mut harmless = false;
    let (mut before, mut last) = ("", "");
    for arg in call.args.iter().take(8) {
        let text = arg.text.as_str();
        let behind = std::mem::replace(&mut after_option, is_valued(arg));
        let option = std::mem::replace(&mut last, text);
        if text.starts_with('-')
            && !lists("-delete -destroy -purge -wipe -deleteall -rm -rmr", text)
        {
            continue;
        }
        let word = text.trim_start_matches('-');
        let plain =
            word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte));
        if !plain || word.is_empty() {
            if behind {
                continue;
            }
            break;
        }
        if taken(call, word, forced, seen) && !behind || word.contains("scale") && idle {
            return Some(Signal::CloudDelete);
        }
        let operation = behind && lists(OPERATIONS, option);
        if let Some(signal) = meaning(word).filter(|_| (!behind || operation) && before != "cache")
        {
            return Some(signal);
        }
        if word == "push"
            && !rule::knows(call.program)
            && call.operands().skip(1).any(|arg| {
                arg.text.contains(['/', ':'])
                    || ends(".nupkg .gem .whl .tgz .crate .vsix", &arg.text)
            })
        {
            return Some(Signal::Publish);
        }
        if word == "token" && before == "auth" || lists("auth:token get-access-token", word) {
            return Some(Signal::SecretRead);
        }
        before = word;
        seen += usize::from(!behind);
        harmless |= lists(HARMLESS, word) && !behind;
        if harmless || seen >= 5 {
            break;
        }
    }
    let ending = |arg: &Arg| ENDING.split_whitespace().any(|option| arg.text.starts_with(option));
    let stops = |arg: &Arg| lists(ENDS, &arg.text);
    let signal = if call.args.iter().any(ending) {
        Some(Signal::CloudDelete)
    } else {
        call.args.iter().any(stops).then_some(Signal::ServiceStop)
    };
    signal.filter(|_| !harmless)
}

/// Whether `word`, behind so many others, takes something away: forced, or with a noun.
fn taken(call: &Call<'_>, word: &str, forced: bool, seen: usize) -> bool {
    let named = word == "rm" && call.args.len() > 1;
    // `cluster uninstall`: what has no operand goes itself.
    let whole = lists("reset uninstall remove", word) && call.operands().count() == 1;
    let behind = call.operands().nth(seen + 1).is_some_and(|noun| lists(NOUNS, &noun.text));
    let noun = word.rsplit_once([':', '.']).map(|(_, last)| last);
    lists(TAKES, word) && (forced || named || whole || seen > 0)
        || lists("remove unregister", word) && behind
        || noun.is_some_and(|last| lists(TAKES, last) && last != "clean")
}

/// An option that may take the next word as its value.
fn is_valued(arg: &Arg) -> bool {
    arg.text.starts_with('-') && !arg.text.contains('=')
}
