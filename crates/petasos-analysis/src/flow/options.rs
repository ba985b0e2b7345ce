//! How a call is asked about its options and operands. No knowledge of programs beyond
//! which options of the copying ones take a value.

use super::call::Call;
use super::value::Arg;
use crate::words::lists;

/// Options of `scp` and `sftp` that take a value.
const SECURE_COPY: &str = "-i -F -o -P -c -l -S -J -D -X -b -B -R";

/// Options of `rsync` that take a value.
const SYNCHRONISE: &str = "-e --rsh -B --block-size -f --filter --exclude --exclude-from --include --include-from \
    --files-from --rsync-path -T --temp-dir --password-file --log-file --port --bwlimit \
    --max-size --min-size --chmod --chown --timeout --contimeout --link-dest --compare-dest \
    --copy-dest --backup-dir --suffix --partial-dir --out-format --sockopts -M --info --debug \
    --max-delete --usermap --groupmap --iconv --address";

impl<'c> Call<'c> {
    /// Arguments that are not options.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &'c Arg> + use<'c> {
        let mut plain = false;
        self.args.iter().filter(move |arg| {
            if !plain && arg.is("--") {
                plain = true;
                return false;
            }
            plain || !arg.text.starts_with('-') || arg.text.len() == 1
        })
    }

    /// Arguments before `--`.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'c Arg> + use<'c> {
        self.args
            .iter()
            .take_while(|arg| !arg.is("--"))
            .filter(|arg| arg.text.len() > 1 && arg.text.starts_with('-'))
    }

    /// Whether a cluster of short options has `letter`.
    pub(crate) fn flag(&self, letter: char) -> bool {
        self.options().any(|arg| !arg.text.starts_with("--") && arg.text.contains(letter))
    }

    pub(crate) fn flag_word(&self, word: &str) -> bool {
        self.args.iter().any(|arg| arg.is(word))
    }

    /// Whether the long option `name` is given, also shortened or with a value.
    pub(crate) fn long(&self, name: &str) -> bool {
        self.options().any(|arg| {
            let (stem, value) = arg.text.split_once('=').unwrap_or((&arg.text, ""));
            if matches!(value, "false" | "no" | "none" | "off") {
                return false;
            }
            stem == name || stem.len() >= 4 && stem.starts_with("--") && name.starts_with(stem)
        })
    }

    /// The value of an option, attached or following; the first, if there are many.
    pub(crate) fn option(&self, names: &[&str]) -> Option<Arg> {
        self.values(names).next()
    }

    /// All values of an option that may be given more than once.
    pub(crate) fn values<'n>(
        &self,
        names: &'n [&'n str],
    ) -> impl Iterator<Item = Arg> + use<'c, 'n> {
        let mut rest = self.args.iter();
        std::iter::from_fn(move || {
            loop {
                let arg = rest.next()?;
                for name in names {
                    if arg.is(name) {
                        return rest.next().cloned();
                    }
                    let attached = arg.text.strip_prefix(name).filter(|_| !arg.is("--"));
                    let value = match attached {
                        Some(value) if name.starts_with("--") => value.strip_prefix('='),
                        Some(value) if name.len() == 2 => Some(value),
                        _ => None,
                    };
                    if let Some(value) = value {
                        return Some(arg.with_text(value));
                    }
                }
            }
        })
    }

    /// The argument after a cluster of short options that ends in `letter`.
    pub(crate) fn clustered(&self, letter: char) -> Option<Arg> {
        let at = self.args.iter().position(|arg| {
            arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.ends_with(letter)
        })?;
        self.args.get(at + 1).cloned()
    }

    /// Operands, without the values of the options in `values`.
    pub(crate) fn operands_past(&self, values: &str) -> Vec<&'c Arg> {
        let mut found = Vec::new();
        let mut rest = self.args.iter();
        while let Some(arg) = rest.next() {
            if arg.is("--") {
                found.extend(rest);
                break;
            }
            if arg.text.len() < 2 || !arg.text.starts_with('-') {
                found.push(arg);
                continue;
            }
            // `-avze ssh`: the last letter of a cluster takes the value.
            let last = arg.text.chars().next_back().filter(|_| !arg.text.starts_with("--"));
            let takes = |name: &str| {
                arg.is(name)
                    || last.is_some_and(|last| {
                        name.strip_prefix('-').is_some_and(|name| name.chars().eq([last]))
                    })
            };
            if values.split_ascii_whitespace().any(takes) {
                rest.next();
            }
        }
        found
    }

    /// The files that a copying program is given, here or elsewhere.
    pub(crate) fn files(&self) -> Vec<&'c Arg> {
        let values = match self.program {
            "scp" | "sftp" => SECURE_COPY,
            "rsync" => SYNCHRONISE,
            "install" | "ginstall" => "-m -o -g -S -t --mode --owner",
            _ => "-t -S --target-directory --suffix",
        };
        self.operands_past(values)
    }

    pub(crate) fn operand(&self, position: usize) -> &'c str {
        self.operands().nth(position).map(|arg| arg.text.as_str()).unwrap_or_default()
    }

    /// Only asks for usage or version.
    pub(crate) fn asks_help(&self) -> bool {
        let mut rest = self.args.iter().take_while(|arg| !arg.is("--")).peekable();
        while let Some(arg) = rest.next() {
            let last = rest.peek().is_none_or(|next| next.text.starts_with('-'));
            if arg.is("--help") || arg.is("--version") && last {
                return true;
            }
        }
        // `-h` behind a verb asks for help only where a verb comes first.
        let verbal = lists("kubectl docker podman helm git cargo npm gh terraform", self.program);
        let last = self.args.last();
        verbal && last.is_some_and(|arg| arg.is("-h") || arg.is("-help"))
            || self.args.len() == 1
                && self.args.iter().any(|arg| arg.is("help") || arg.is("-h") || arg.is("-V"))
    }
}
