//! Files that this line wrote and that a program reads as a program: named by it, or found by a
//! convention, an option or an import.

use super::call::Call;
use super::engine::Engine;
use super::guess::PLAIN;
use super::value::{Arg, Taint};
use crate::code::Language;
use crate::rule::Signal;
use crate::shell::Span;
use crate::words::{ends, holds, lists};

/// So many files are looked at.
const FILES_MAX: usize = 64;

/// Parts of names by which a test, a build or a server finds its files.
const ENTRIES: &str = "config test spec file setup main app build index mod conf tasks manage wsgi asgi \
    plugin hook task rc. site extension package readme";

/// Endings of documents, which nothing runs.
const DOCUMENTS: &str = "\
    .md .txt .rst .log .adoc .csv .html .patch .diff";

/// Modules that programs import most: a file of that name beside them comes first.
const SHADOWED: &str = "abc argparse ast asyncio base64 bisect calendar collections copy csv dataclasses \
    datetime decimal email enum functools glob hashlib heapq html http inspect io ipaddress itertools json \
    locale logging math numbers operator os pathlib pickle platform pprint queue random re sched secrets \
    select shutil signal site sitecustomize socket ssl statistics string struct subprocess sys tempfile \
    textwrap threading time token tokenize traceback types typing unittest urllib usercustomize uuid \
    warnings weakref xml yaml requests numpy pandas dotenv";
/// Files that a program finds by their name or ending, by language: the ending, and who reads it.
const LOADED: &[(Language, &str)] = &[
    (
        Language::Python,
        ".py pip pip3 pytest py.test tox nox gunicorn uvicorn flask hypercorn celery python python3 fab \
         inv invoke scons doit locust mypy ipython streamlit conan waf poetry uv hatch pdm \
         django-admin scrapy airflow jupyter manim robot behave sphinx-build coverage alembic \
         gdb lldb blender mitmproxy mitmdump python2 pypy pypy3 kedro prefect dagster luigi \
         mkdocs pre-commit snakemake nikola lektor; SConstruct scons; wscript waf",
    ),
    (
        Language::JavaScript,
        ".js npx npm yarn pnpm bun gulp grunt jest vitest mocha webpack vite rollup eslint prettier babel \
         node deno tsx ts-node ava tap karma cypress playwright next nuxt astro jasmine esbuild parcel pm2 k6 \
         mongosh mongo metro snowpack gatsby lint-staged commitlint postcss tailwindcss bunx hardhat truffle; \
         .mjs npx npm yarn pnpm bun vite eslint node webpack rollup vitest next; .cjs npx npm yarn pnpm bun \
         vite eslint node webpack rollup jest; .ts npx npm yarn pnpm bun bunx deno tsx ts-node vite vitest \
         playwright jest swc-node node",
    ),
    (
        Language::Ruby,
        ".rb rake rspec bundle rails rackup ruby cap thor guard puma brew vagrant chef-apply \
         chef-client minitest irb jekyll chef-solo test-kitchen; Rakefile rake bundle; Gemfile \
         bundle; Vagrantfile vagrant; Guardfile guard bundle; Capfile cap; Fastfile fastlane \
         bundle; Brewfile brew; .gemspec gem bundle; .ru rackup puma unicorn",
    ),
    (Language::Php, ".php php phpunit composer artisan pest psysh"),
    (Language::Perl, ".pl prove perl; .PL perl; .t prove"),
    (
        Language::Other,
        ".md mask xc mdsh runme maid rundoc byexample clitest cram; .ipynb jupyter papermill; \
         BUILD bazel buck please pants; justfile just; Justfile just; Taskfile.yml task go-task; Taskfile.yaml task go-task; Snakefile snakemake; Tiltfile tilt; .go go mage gotestsum tinygo; .rs cargo rustc \
         rust-script; .zig zig; .nim nim nimble; .nims nim nimble; .nimble nimble; .cr crystal \
         shards; .kts gradle gradlew kotlin kotlinc; .kt kotlin kotlinc; .gradle gradle gradlew; \
         .java java jshell jbang; .groovy groovy; .scala scala scala-cli amm; .sc scala \
         scala-cli amm mill; .sbt sbt; .swift swift swiftc; .cs dotnet csharp; .csx dotnet csi; \
         .fsx dotnet fsharpi; .d dmd rdmd dub ldc2; .v v; .hs runhaskell runghc stack cabal ghc \
         ghci; .ml ocaml dune utop; .ex elixir mix iex; .exs elixir mix iex; .erl erl escript \
         erlc rebar3; .clj clojure clj bb lein; .cljs clojure shadow-cljs lumo; .edn clojure clj \
         bb; .lisp sbcl clisp ecl; .el emacs emacsclient; .scm guile racket csi; .rkt racket \
         raco; .lua lua luajit nvim texlua busted wrk love redis-cli lapis premake5 xmake; .jl \
         julia; .R R r rscript; .Rmd r rscript; .qmd quarto; .m octave matlab; .raku raku",
    ),
    (Language::Tcl, ".tcl tclsh wish expect vivado"),
    (Language::PowerShell, ".ps1 pwsh powershell; .psm1 pwsh powershell"),
    (
        Language::Shell,
        ".bats bats; PKGBUILD makepkg; APKBUILD abuild; .envrc direnv; configure autoreconf",
    ),
    (
        Language::Make,
        "Makefile make gmake bmake checkmake remake; GNUmakefile make gmake remake; .mk make \
         gmake bmake remake",
    ),
];

/// Endings and names of settings whose readers run commands out of them.
const SETTINGS: &str = ".json .yml .yaml .toml .tf .hcl .cfg .conf .ini .xml .ac .m4 .am .cmake \
    CMakeLists.txt meson.build .ninja .gdb .sql .vim .tex .latex .ms .nix .dhall .jsonnet .rules .service \
    .timer .bazel Dockerfile Procfile Containerfile Earthfile Jenkinsfile Taskfile WORKSPACE .gitconfig \
    .properties rc .mill .lldb .expect .roff .pp .sls .j2 .nse .gp .plt .do .in .dot .opts .params .scr .lftp \
    .ftp .spec .control .exrc";

/// Programs that read settings only to show or check them.
const CHECKERS: &str = "\
    jq yq yamllint jsonlint taplo hadolint actionlint tflint cat xmllint kubeval kubeconform \
    ls code promtool sqlfluff checkov ansible-lint";

/// Programs that are there to run files which they find by name.
const FINDERS: &str = "pytest tox nox fab inv invoke scons rake rspec bats prove gulp grunt just task go-task mage waf \
    snakemake direnv";

/// Programs that only start another command, and builtins that read no file.
const NEUTRAL: &str = "cd pushd popd chmod chown mkdir touch ls rm cp mv ln export set unset sleep true \
    false test [ pwd sync mktemp dirname basename wait time";

impl Engine<'_> {
    /// Files of this line that `call` reads as a program.
    pub(super) fn loaded(&mut self, call: &Call<'_>) -> Vec<(Option<Language>, String)> {
        let before = self.facts.scripts.as_ref().map(|scripts| scripts.paths()).unwrap_or_default();
        let again = self.via.contains(&"loaded");
        let fed = lists(FINDERS, call.program) && call.flag_word("-");
        let nothing = self.state.files.is_empty() && before.is_empty() && !fed;
        if again || nothing || lists(CHECKERS, call.program) {
            return Vec::new();
        }
        let configured =
            call.option(&["-F", "--config", "--config-file"]).map(|file| self.resolve(&file.text));
        let plain = !lists("ssh tmux", call.program)
            && (lists(PLAIN, call.program) || lists(super::embedded::DATA, call.program));
        let neutral = plain || lists(NEUTRAL, call.program);
        let named: Vec<String> = call
            .args
            .iter()
            .take(24)
            .flat_map(|arg| arg.text.split(['=', ',', '@', ':']).chain([told(&arg.text)]))
            .filter(|text| !text.is_empty())
            .map(|text| self.resolve(text))
            .collect();
        for path in before {
            if named.contains(&path) && !plain || self.finds(call, &path) {
                self.recall(&path);
            }
        }
        let mut found = Vec::new();
        if fed {
            found.extend(call.stdin.text.clone().map(|text| (None, text)));
        }
        let mut fetched = false;
        for (path, stream) in self.state.files.iter().take(FILES_MAX) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let row = read_by(name);
            let reads = row.is_some_and(|(_, readers, _)| lists(readers, call.program));
            let document = ends(DOCUMENTS, name) && name != "CMakeLists.txt";
            let stem = name.split('.').next().unwrap_or(name);
            let about = |arg: &Arg| arg.text.split([':', '.', '/']).any(|part| part == stem);
            let below = |folder: &String| {
                path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            let entry = named.contains(path)
                || named.iter().any(below)
                || path.ends_with(".go")
                || row.is_some_and(|(ending, _, _)| !ending.starts_with('.'))
                || holds(ENTRIES, &name.to_ascii_lowercase())
                || path.ends_with(".py") && lists(SHADOWED, stem)
                || call.args.iter().any(about);
            let Some(text) = &stream.text else {
                fetched |= reads && entry && stream.taint.has(Taint::DOWNLOADED);
                continue;
            };
            // A name without an ending, or one that is hidden, is found by a convention.
            let own = call.program == "git" && path.ends_with(".git/config");
            let found_by_name =
                own || ends(SETTINGS, name) || row.is_none() && is_conventional(name);
            if reads && entry {
                found.push((row.map(|row| row.2), text.clone()));
            } else if configured.as_ref() == Some(path) {
                found.push((None, text.clone()));
            } else if !plain && named.contains(path) && !document {
                let language = row.map_or(Language::Other, |row| row.2);
                found.push((Some(language), text.clone()));
            } else if (!neutral || own) && found_by_name {
                found.push((row.map(|row| row.2), text.clone()));
            }
        }
        if fetched {
            self.report.signal(Signal::RemoteCode, call.span, call.name.text.clone());
        }
        found
    }

    /// Whether `call` finds a file below its directory by a convention of its own.
    fn finds(&self, call: &Call<'_>, path: &str) -> bool {
        let cwd = self.state.cwd.as_deref().unwrap_or("/");
        let name = path.rsplit('/').next().unwrap_or(path);
        let reads = read_by(name).is_some_and(|(_, readers, _)| lists(readers, call.program));
        path.strip_prefix(cwd).is_some_and(|rest| rest.starts_with('/'))
            && (call.program == "git" && path.ends_with("/.git/config")
                || reads && lists(FINDERS, call.program))
    }

    pub(super) fn run_loaded(&mut self, language: Option<Language>, text: &str, span: Span) {
        let before = self.report.analysis.findings.len();
        self.via.push("loaded");
        if let Some(language) = language {
            self.run_code(language, Arg::new(text, span), Vec::new(), span);
        }
        if self.report.analysis.findings.len() == before
            && !matches!(
                language,
                Some(Language::Python | Language::Make | Language::Php | Language::Perl)
            )
        {
            self.run_phrases(text, span);
        }
        self.via.pop();
    }
}

/// The file of `.read FILE` and its like, or the whole word.
fn told(word: &str) -> &str {
    let command = word.starts_with(['.', '\\']);
    word.split_once(' ').filter(|_| command).map_or(word, |(_, file)| file.trim())
}

/// The ending of a name that some program looks for, its readers, and its language.
fn read_by(name: &str) -> Option<(&'static str, &'static str, Language)> {
    LOADED.iter().find_map(|(language, rows)| {
        let mut rows = rows.split("; ").filter_map(|row| row.split_once(' '));
        rows.find(|(ending, _)| name.ends_with(ending)).map(|row| (row.0, row.1, *language))
    })
}

/// `PKGBUILD`, `.Rprofile`: names that mean something to some program.
fn is_conventional(name: &str) -> bool {
    !lists("README LICENSE NOTES CHANGELOG TODO AUTHORS COPYING", name)
        && (name.starts_with('.') && name.len() > 2
            || name.len() > 3 && !name.contains('.') && name.starts_with(char::is_uppercase))
}
