//! What commands leave in files: copies, downloads, unpacked archives, edits in place. Only what
//! this line itself wrote is known.

use super::call::Call;
use super::engine::Engine;
use super::filter;
use super::report::Deed;
use super::value::{Arg, Stream, Taint};
use crate::words::lists;

impl Engine<'_> {
    /// Remembers what copying, moving and downloading leaves in files.
    pub(super) fn track(&mut self, call: &Call<'_>, stdin: &Stream) {
        self.track_copy(call);
        self.track_link(call);
        self.track_compiled(call, stdin);
        match call.program {
            "cp" | "mv" | "install" | "ln" | "ditto" => self.track_copied(call),
            "tee" | "sponge" => {
                let append = call.flag('a');
                for operand in call.operands() {
                    if !self.charge(400, call.span) {
                        break;
                    }
                    let path = self.resolve(&operand.text);
                    let copy = self.copied(stdin);
                    self.write_file(path, copy, append);
                }
            }
            "dd" => {
                let output = call.args.iter().find_map(|arg| arg.text.strip_prefix("of="));
                let input = call.args.iter().any(|arg| arg.text.starts_with("if="));
                if let Some(path) = output.filter(|_| !input) {
                    let path = self.resolve(path);
                    self.write_file(path, stdin.clone(), false);
                }
            }
            "base64" | "openssl" | "gpg" | "xxd" => {
                if let Some(path) = call.option(&["-o", "--output", "-out"]) {
                    let path = self.resolve(&path.text);
                    self.write_file(path, Stream::unknown(Taint::DECODED), false);
                }
            }
            "curl" | "wget" | "aria2c" | "fetch" | "axel" | "http" | "scp" | "ftp" | "sftp"
            | "tftp" | "rsync" => {
                self.track_download(call);
            }
            "git" | "hg" | "svn" | "fossil" | "bzr" | "darcs"
                if lists("clone checkout co export get branch", call.operand(0)) =>
            {
                self.track_clone(call);
            }
            _ if fetches(call) => self.unpacked = true,
            "mkfifo" => {
                let paths: Vec<String> =
                    call.operands().take(8).map(|arg| self.resolve(&arg.text)).collect();
                self.fifos.extend(paths.into_iter().map(|path| (path, false)));
            }
            "patch" => self.track_patch(stdin),
            "git" if matches!(call.operand(0), "apply" | "am") => self.track_patch(stdin),
            "unxz" | "bunzip2" | "unzstd" | "unlzma" | "xz" | "bzip2" | "zstd" | "lz4"
            | "brotli" => {
                self.track_unpacked(call);
            }
            "sed" | "gsed" | "awk" | "gawk" | "split" | "csplit" | "script" | "sort"
                if !self.track_edit(call) =>
            {
                self.track_written(call, stdin);
            }
            "perl" | "ruby" => {
                self.track_edit(call);
            }
            "tar" | "unzip" | "bsdtar" | "7z" | "gunzip" | "cpio" | "unar" => {
                self.track_archive(call, stdin);
                self.track_packed(call);
            }
            "zip" | "bsdcpio" | "7za" => self.track_packed(call),
            _ => {}
        }
    }

    /// What is copied is there under the name given, or in a directory of that name.
    fn track_copied(&mut self, call: &Call<'_>) {
        let named = call.option(&["-t", "--target-directory"]);
        let operands = call.files();
        let (destination, sources) = match (&named, operands.split_last()) {
            (Some(named), _) => (named.text.as_str(), operands.as_slice()),
            (None, Some((last, rest))) => (last.text.as_str(), rest),
            (None, None) => return,
        };
        for source in sources.iter().take(16) {
            let name = source.text.rsplit('/').next().unwrap_or_default();
            let path = self.resolve(&source.text);
            if let Some(stream) = self.held(&path) {
                // It is there under the name given, or in a directory of that name.
                let inside = self.resolve(&format!("{destination}/{name}"));
                self.write_file(inside, stream.clone(), false);
                let destination = self.resolve(destination);
                self.write_file(destination, stream, false);
            } else {
                self.track_tree(&path, name, destination);
            }
        }
    }

    /// The files of a directory that is copied or moved, under its new name or in a directory of it.
    fn track_tree(&mut self, folder: &str, name: &str, destination: &str) {
        let folder = folder.trim_end_matches(['/', '*', '.']).trim_end_matches('/');
        let files: Vec<(String, Stream)> = self
            .state
            .files
            .iter()
            .filter_map(|(path, stream)| {
                let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
                Some((rest.to_owned(), stream.clone()))
            })
            .take(16)
            .collect();
        for (rest, stream) in files {
            for place in [format!("{destination}/{rest}"), format!("{destination}/{name}/{rest}")] {
                let place = self.resolve(&place);
                self.write_file(place, stream.clone(), false);
            }
        }
    }

    /// `x.xz` becomes `x`, of the same origin.
    fn track_unpacked(&mut self, call: &Call<'_>) {
        for operand in call.operands().take(8) {
            let path = self.resolve(&operand.text);
            if let (Some(stream), Some((stem, _))) = (self.held(&path), path.rsplit_once('.')) {
                self.write_file(stem.to_owned(), Stream::unknown(stream.taint), false);
            }
        }
    }

    /// Files that a filter writes besides its output hold what came in.
    fn track_written(&mut self, call: &Call<'_>, stdin: &Stream) {
        let written =
            crate::effects::of(call).into_iter().filter(|found| found.deed == Deed::Write);
        for found in written.take(8) {
            let mut path = self.resolve(&found.path.text);
            if call.program == "split" {
                path.push_str("aa");
            }
            let copy = self.copied(stdin);
            self.write_file(path, copy, false);
        }
    }

    /// A patch adds lines to the files that it names.
    fn track_patch(&mut self, stdin: &Stream) {
        let Some(text) = &stdin.text else { return };
        let mut files: Vec<(String, String)> = Vec::new();
        for line in text.lines().take(4096) {
            if let Some(name) = line.strip_prefix("+++ ") {
                let name = name.strip_prefix("b/").unwrap_or(name);
                files.push((self.resolve(name.split('\t').next().unwrap_or(name)), String::new()));
            } else if let (Some(added), Some((_, body))) =
                (line.strip_prefix('+'), files.last_mut())
            {
                body.push_str(added);
                body.push('\n');
            }
        }
        for (path, body) in files {
            self.write_file(path, Stream::known(body), true);
        }
    }

    fn track_download(&mut self, call: &Call<'_>) {
        let names: &[&str] = match call.program {
            "wget" => &["-O", "--output-document"],
            _ => &["-o", "--output", "--out"],
        };
        let letter = if call.program == "wget" { 'O' } else { 'o' };
        let named = call.option(names).or_else(|| call.clustered(letter));
        if let Some(path) = named.filter(|_| !matches!(call.program, "scp" | "rsync")) {
            // `#1` stands for names that are not said.
            self.unpacked |= path.text.contains('#');
            let path = self.resolve(&path.text);
            self.write_file(path, Stream::unknown(Taint::DOWNLOADED), false);
            return;
        }
        if matches!(call.program, "scp" | "rsync") {
            self.track_remote_copy(call);
            self.track_copied(call);
            return;
        }
        if call.program == "curl" && !call.flag('O') && !call.long("--remote-name") {
            return;
        }
        // What a list names, or a page, is not said here.
        self.unpacked |= call.program == "wget" && (call.flag('i') || call.flag('r'));
        let folder = call.option(&["-P", "--directory-prefix", "--output-dir"]);
        let urls: Vec<String> = call.operands().map(|arg| arg.text.clone()).collect();
        for url in urls {
            let clean = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
            let Some(name) = clean.rsplit(['/', ':']).next().filter(|name| !name.is_empty()) else {
                continue;
            };
            let path = match &folder {
                Some(directory) => self.resolve(&format!("{}/{name}", directory.text)),
                None => self.resolve(name),
            };
            self.write_file(path, Stream::unknown(Taint::DOWNLOADED), false);
        }
    }

    /// `scp host:file place`: the file is then at the place, or in it.
    fn track_remote_copy(&mut self, call: &Call<'_>) {
        let operands: Vec<&Arg> = call.operands().collect();
        let Some((destination, sources)) = operands.split_last() else { return };
        for source in sources.iter().filter(|source| source.text.contains(':')) {
            if !self.charge(1500, call.span) {
                return;
            }
            let name = source.text.rsplit(['/', ':']).next().unwrap_or_default();
            for path in [destination.text.clone(), format!("{}/{name}", destination.text)] {
                let path = self.resolve(&path);
                self.write_file(path, Stream::unknown(Taint::DOWNLOADED), false);
            }
        }
    }

    fn track_clone(&mut self, call: &Call<'_>) {
        let operands: Vec<&Arg> = call.operands().skip(1).collect();
        let Some(url) = operands.first().filter(|url| url.text.contains([':', '/'])) else {
            return;
        };
        let place = match operands.get(1) {
            Some(place) => place.text.clone(),
            None => {
                let name = url.text.trim_end_matches('/').rsplit(['/', ':']).next();
                name.unwrap_or_default().trim_end_matches(".git").to_owned()
            }
        };
        if !place.is_empty() {
            self.clones.insert(self.resolve(&place));
        }
    }

    /// Whether `path` is a script out of a repository that this line has just fetched.
    pub(super) fn is_cloned_script(&self, path: &str) -> bool {
        !self.clones.is_empty()
            && is_installer(path)
            && (self.moved_into_clone
                || path
                    .match_indices('/')
                    .any(|(at, _)| path.get(..at).is_some_and(|place| self.clones.contains(place))))
    }

    fn track_archive(&mut self, call: &Call<'_>, stdin: &Stream) {
        let foreign = Taint::DOWNLOADED.with(Taint::DECODED);
        let from_net = stdin.taint.has(foreign)
            || call.args.iter().any(|arg| {
                let path = self.resolve(&arg.text);
                self.state.files.get(&path).is_some_and(|stream| stream.taint.has(foreign))
            });
        self.unpacked |= from_net;
    }

    /// A file that is changed where it is holds what the edit makes of it.
    fn track_edit(&mut self, call: &Call<'_>) -> bool {
        if !crate::effects::in_place(call) {
            return false;
        }
        let operands: Vec<&Arg> = call.operands().collect();
        for operand in operands.iter().skip(1).take(8) {
            let path = self.resolve(&operand.text);
            let Some(held) = self.held(&path) else { continue };
            let script = call.option(&["-e", "--expression"]);
            let script = script.as_ref().or(operands.first().copied());
            let text = held.text.and_then(|text| filter::run("sed", &[script?.clone()], &text));
            let stream = match text {
                Some(text) => Stream::known(text),
                None => Stream::unknown(held.taint.with(Taint::OPAQUE).with(Taint::REWRITTEN)),
            };
            self.write_file(path, stream, false);
        }
        true
    }

    /// What is packed here is there again where the archive is unpacked.
    fn track_packed(&mut self, call: &Call<'_>) {
        let first = call.args.first().map(|arg| arg.text.as_str()).unwrap_or_default();
        let archive = match call.program {
            "tar" | "bsdtar" | "gtar" => call
                .option(&["--file", "-f"])
                .or_else(|| call.clustered('f'))
                .or_else(|| call.args.get(1).filter(|_| first.contains('f')).cloned()),
            "7z" | "7za" => call.operands().nth(1).cloned(),
            _ => call.operands().next().cloned(),
        };
        let Some(archive) = archive else { return };
        let archive = self.resolve(&archive.text);
        if let Some(members) = self.packed.get(&archive).cloned() {
            let attached = call.args.iter().find_map(|arg| arg.text.strip_prefix("-o"));
            let place = call.option(&["-C", "--directory", "-d"]).map(|arg| arg.text);
            let place = place.or(attached.map(str::to_owned)).unwrap_or_default();
            for (name, stream) in members {
                let name = if place.is_empty() { name } else { format!("{place}/{name}") };
                self.write_file(self.resolve(&name), stream, false);
            }
            return;
        }
        let mut members = Vec::new();
        for operand in call.operands().take(32) {
            let path = self.resolve(&operand.text);
            members.extend(self.held(&path).map(|stream| (operand.text.clone(), stream)));
        }
        if !members.is_empty() {
            self.packed.insert(archive, members);
        }
    }
}

/// Whether a program brings files whose names are not said.
fn fetches(call: &Call<'_>) -> bool {
    lists("smbget ftpget gdown", call.program)
        || call.operands().take(4).any(|arg| arg.is("download"))
}

/// A script that sets something up, by its name.
fn is_installer(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.ends_with(".sh") {
        return true;
    }
    let stem = name.split('.').next().unwrap_or_default();
    lists("install setup bootstrap run init deploy start exploit payload", stem)
        && name != "setup.cfg"
}
