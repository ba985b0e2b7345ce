//! Files that this line wrote and that a later program runs by itself: scripts of a
//! `package.json`, hooks of `git`, and statements for a database.

use super::call::Call;
use super::engine::Engine;
use super::value::Arg;
use crate::code::Language;
use crate::rule::Signal;
use crate::sql;
use crate::words::lists;

/// The names by which git finds a hook.
const HOOKS: &str = "pre-commit post-commit pre-push commit-msg prepare-commit-msg post-checkout \
    post-merge pre-rebase applypatch-msg pre-merge-commit post-rewrite post-index-change";

impl Engine<'_> {
    /// Runs what `call` would find in files written before it.
    pub(super) fn trigger(&mut self, call: &Call<'_>) {
        match call.program {
            "npm" | "pnpm" | "yarn" | "bun" => self.package_script(call),
            "git" => self.hooks(call),
            "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlcmd" | "duckdb" | "cockroach"
            | "clickhouse-client" | "cqlsh" | "usql" | "sqlplus" => self.statements(call),
            _ => {}
        }
    }

    fn package_script(&mut self, call: &Call<'_>) {
        let words: Vec<&str> = call.operands().take(4).map(|arg| arg.text.as_str()).collect();
        if let ["pkg", "set", ..] = words.as_slice() {
            self.set_package_scripts(call);
            return;
        }
        let package = self.resolve("package.json");
        self.recall(&package);
        if self.scripts.is_empty() && self.state.files.is_empty() {
            return;
        }
        let name = match words.as_slice() {
            ["run" | "run-script" | "rum" | "urn", name, ..] => *name,
            ["install" | "i" | "ci" | "add" | "rebuild" | "link", ..] => "install",
            ["publish" | "pack", ..] => "prepare",
            ["t" | "tst", ..] if call.program == "npm" => "test",
            [name, ..] => *name,
            [] if call.program == "yarn" => "install",
            [] => return,
        };
        let names = match name {
            "install" => vec!["preinstall", "install", "postinstall", "prepare"],
            name => vec![name],
        };
        let mut commands = Vec::new();
        for name in names {
            for prefix in ["pre", "", "post"] {
                let name = format!("{prefix}{name}");
                commands.extend(self.package_command(&name));
            }
        }
        for command in commands {
            let code = Arg::new(command, call.span);
            self.run_shell(code, call.span);
        }
    }

    /// `npm pkg set scripts.x=…`.
    fn set_package_scripts(&mut self, call: &Call<'_>) {
        for arg in call.args {
            if let Some((name, command)) =
                arg.text.strip_prefix("scripts.").and_then(|text| text.split_once('='))
            {
                self.scripts.insert(name.to_owned(), command.to_owned());
            }
        }
    }

    fn package_command(&mut self, name: &str) -> Option<String> {
        if let Some(command) = self.scripts.get(name) {
            return Some(command.clone());
        }
        let path = self.resolve("package.json");
        let text = self.held(&path)?.text?;
        if !self.charge(text.len().saturating_mul(8), crate::shell::Span::default()) {
            return None;
        }
        let package: serde_json::Value = match serde_json::from_str(&text) {
            Ok(package) => package,
            // What is no package runs nothing.
            Err(_) => return None,
        };
        Some(package.get("scripts")?.get(name)?.as_str()?.to_owned())
    }

    fn hooks(&mut self, call: &Call<'_>) {
        const VERBS: &str = "commit push merge pull checkout switch rebase am";
        if !call.args.iter().take(8).any(|arg| lists(VERBS, &arg.text)) {
            return;
        }
        let moved = self.recall_hooks();
        if !self.charge(self.state.files.len() * 20, call.span) {
            return;
        }
        // A hook may lie wherever a setting of this line says.
        let moved = moved || self.original.to_ascii_lowercase().contains("hookspath");
        let mut paths: Vec<String> = self
            .state
            .files
            .keys()
            .filter(|path| {
                let name = path.rsplit('/').next().unwrap_or_default();
                path.contains(".git/hooks/")
                    || path.contains(".husky/")
                    || moved && lists(HOOKS, name)
            })
            .cloned()
            .collect();
        paths.sort_unstable();
        for path in paths {
            let Some(text) = self.held(&path).and_then(|stream| stream.text) else { continue };
            let language = Language::of_script(&text);
            self.run_code(language, Arg::new(text, call.span), Vec::new(), call.span);
        }
    }

    /// Brings in hooks that the agent wrote before; whether a setting of the repository says where.
    fn recall_hooks(&mut self) -> bool {
        let Some(scripts) = self.facts.scripts.clone() else { return false };
        let config = self.resolve(".git/config");
        let text =
            scripts.foreign(&config).or_else(|| scripts.written(&config)).unwrap_or_default();
        let setting = text.lines().find_map(|line| {
            let (name, folder) = line.split_once('=')?;
            name.trim().eq_ignore_ascii_case("hookspath").then(|| folder.trim().to_owned())
        });
        let near = |path: &String| path.contains("/.git/hooks/") || path.contains("/.husky/");
        let named = |path: &String| {
            setting.is_some() && path.rsplit('/').next().is_some_and(|name| lists(HOOKS, name))
        };
        for path in scripts.paths().iter().filter(|path| near(path) || named(path)) {
            self.recall(path);
        }
        setting.is_some()
    }

    /// Statements in a file, by option or by a command that reads it.
    fn statements(&mut self, call: &Call<'_>) {
        if self.state.files.is_empty() {
            return;
        }
        let named = call.values(&["-f", "--file", "-i", "--input-file", "--queries-file"]);
        let mut paths: Vec<String> = named.map(|arg| arg.text).collect();
        for arg in call.args {
            let text = arg.text.trim();
            let read = [".read ", "\\i ", "source ", "SOURCE ", "\\. ", "@"]
                .iter()
                .find_map(|mark| text.strip_prefix(mark));
            paths.extend(read.map(|path| path.trim_matches(['\'', '"', ';']).to_owned()));
            if arg.text.starts_with("/dev/fd/") {
                paths.push(arg.text.clone());
            }
        }
        for path in paths {
            let path = self.resolve(&path);
            let Some(text) = self.held(&path).and_then(|stream| stream.text) else { continue };
            if self.charge(text.len().saturating_mul(16), call.span) && sql::is_destructive(&text) {
                self.report.signal(Signal::DestructiveSql, call.span, call.program);
            }
        }
    }
}
