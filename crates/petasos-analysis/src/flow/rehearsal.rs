//! Modes in which a program carries nothing out: syntax checks, dry runs, simulations.
//! Tables of options only; a mode that runs even a part of what it reads is not in here.

use super::call::Call;
use super::value::Arg;
use crate::table::Table;
use crate::words::lists;
use std::sync::LazyLock;

/// Options that make a program idle.
struct Row {
    names: &'static str,
    /// Letters, alone or among other short options.
    letters: &'static str,
    /// Letters whose value is the rest of the word, so that nothing behind them is an option.
    values: &'static str,
    /// Whole words, also with a value behind `=`.
    words: &'static str,
    /// Only options in front of the first operand count.
    leading: bool,
}

const fn row(
    names: &'static str,
    letters: &'static str,
    values: &'static str,
    words: &'static str,
) -> Row {
    Row { names, letters, values, words, leading: false }
}

const ROWS: &[Row] = &[
    row("bash sh zsh dash ksh ash mksh rbash yash ksh93 oksh", "n", "", "noexec").leading(),
    row("csh tcsh", "n", "", "").leading(),
    row("fish", "n", "cCdfDo", "--no-execute").leading(),
    row("ruby jruby", "c", "IreEKTxCFi0W", "").leading(),
    row("perl perl5 raku", "c", "eEIMmiFxCD0V", "").leading(),
    row("php", "l", "rBRFEdczgSt", "--syntax-check").leading(),
    row("node nodejs", "c", "epr", "--check").leading(),
    row("make gmake bmake", "nq", "CfIjlOoWE", "--dry-run --just-print --recon --question"),
    row(
        "ninja just task stow rename prename mmv detox",
        "n",
        "Cfdtj",
        "--dry-run --dry --no --simulate --nono --no-act",
    ),
    row("parallel", "", "jnNIaSP", "--dry-run --dryrun").leading(),
    row("ansible", "C", "amiutflMePcBT", "--check --list-hosts --syntax-check"),
    row(
        "ansible-playbook",
        "C",
        "iutflMecT",
        "--check --list-hosts --list-tasks --list-tags --syntax-check",
    ),
    row("dnf dnf5 yum tdnf microdnf", "", "", "--assumeno"),
    row("apt apt-get aptitude", "s", "otac", "--simulate --just-print --dry-run --recon --no-act"),
    row("dpkg", "", "", "--dry-run --no-act --simulate"),
    row("zypper", "D", "", "--dry-run --dryrun"),
    row("pacman yay paru", "p", "", "--print"),
    row("rpm", "", "", "--test"),
    row("bq", "", "", "--dry_run"),
    row("apk opkg", "s", "", "--simulate --noaction"),
    row("emerge", "p", "", "--pretend"),
    row("brew xbps-remove pkg pkg_delete", "n", "", "--dry-run --dryrun"),
    row("e2fsck fsck fsck.ext4 fsck.ext3 fsck.ext2 fsck.fat", "nN", "bBECjlLt", ""),
    row("fsck.xfs xfs_repair ntfsfix btrfsck", "n", "lrtm", ""),
    row("mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4", "n", "bcCdeEfgGiIJLmMNoOrTUz", ""),
    row("mkfs mkntfs mkfs.ntfs", "n", "t", ""),
    row("mkfs.xfs", "N", "bcdilmnprsL", ""),
    row("sfdisk wipefs", "n", "otO", "--no-act"),
    row("sgdisk", "P", "ntcu", "--pretend"),
    row("rsync", "n", "eBfMT", "--dry-run --dryrun"),
    row("rclone restic borg chezmoi duplicity git-annex", "n", "", "--dry-run --dryrun"),
    row(
        "patch certbot helm kubeadm systemd-tmpfiles systemctl pip pip3 conda mamba micromamba \
         s3cmd aws docker-compose gcloud azcopy",
        "",
        "",
        "--dry-run --dryrun",
    ),
    row("kubectl oc", "", "", "--dry-run"),
    row("logrotate", "d", "sl", "--debug"),
    row("tmpreaper tmpwatch", "t", "", "--test"),
    row("puppet", "", "", "--noop"),
    row("chef-client chef-solo", "W", "cjo", "--why-run"),
    row("salt salt-call", "", "", "test=True test=true"),
    row("sbatch srun salloc", "", "", "--test-only"),
    row("alembic", "", "", "--sql"),
    row("rake", "nPTDAW", "CfgIRre", "--dry-run --prereqs --tasks"),
    row("nft iptables-restore ip6tables-restore visudo", "c", "f", "--check --test"),
    row("git-filter-repo", "", "", "--analyze --dry-run"),
];

static BY_NAME: LazyLock<Table<&'static Row>> = LazyLock::new(|| {
    let names = |row: &'static Row| row.names.split_ascii_whitespace().map(move |name| (name, row));
    ROWS.iter().flat_map(names).collect()
});

/// Whether `call` only checks or shows, and carries nothing out.
pub(super) fn is(call: &Call<'_>) -> bool {
    if call.program == "gsutil" {
        return call.operand(0) == "rsync" && call.flag('n');
    }
    let Some(row) = BY_NAME.get(call.program) else { return false };
    row.idles(call.args) && !still_runs(call)
}

impl Row {
    /// The same, where what follows the first operand belongs to a script.
    const fn leading(self) -> Self {
        Self { leading: true, ..self }
    }

    fn idles(&self, args: &[Arg]) -> bool {
        let mut value_next = false;
        for arg in args.iter().take(256) {
            let text = arg.text.as_str();
            if text == "--" {
                return false;
            }
            let stem = text.split('=').next().unwrap_or_default();
            if lists(self.words, text) || lists(self.words, stem) {
                return !text.ends_with("=false") && !text.ends_with("=none");
            }
            if std::mem::take(&mut value_next) {
                continue;
            }
            let Some(flags) = text.strip_prefix('-').filter(|flags| !flags.is_empty()) else {
                if self.leading {
                    return false;
                }
                continue;
            };
            if flags.starts_with('-') {
                continue;
            }
            for (position, letter) in flags.chars().enumerate() {
                if self.letters.contains(letter) {
                    return true;
                }
                if self.values.contains(letter) {
                    value_next = position + 1 == flags.chars().count();
                    break;
                }
            }
            // `-o noexec`: the word behind is looked at, and it is no operand.
            value_next |= self.leading && matches!(text, "-o" | "-O");
        }
        false
    }
}

/// Parts that run in spite of the mode: blocks of Perl that run while it compiles, what
/// a makefile asks a shell for, an interactive shell.
fn still_runs(call: &Call<'_>) -> bool {
    let has = |word: &str| call.args.iter().any(|arg| arg.text.contains(word));
    match call.program {
        "perl" | "perl5" | "raku" => has("BEGIN") || has("CHECK") || has("-M") || has("use "),
        "make" | "gmake" | "bmake" => has("$(shell") || has("--eval"),
        "bash" | "sh" | "zsh" | "dash" | "ksh" => call.args.iter().take(2).any(|arg| {
            arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains('i')
        }),
        _ => false,
    }
}
