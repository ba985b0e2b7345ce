//! Commands in text that a program is given and no table accounts for: one argument, standard
//! input, a file that this line wrote. A phrase counts only where the rules speak about it.

use super::call::Call;
use super::engine::Engine;
use super::guess::{PLAIN, announces};
use super::value::Arg;
use crate::code::Language;
use crate::rules::Signal;
use crate::shell::Span;
use crate::wrappers::Inner;

/// So much of a text is looked at, and so many commands in it are followed.
const TEXT_MAX: usize = 16_384;
const COMMANDS_MAX: usize = 8;

/// Programs that store, show, send or look for text, and those whose code is read as code.
const DATA: &str = "\
 comm join expr last lastlog git hg gh glab jj curl wget http xh sed gsed awk gawk mawk nawk perl ruby \
 python python2 python3 pypy node nodejs php bun tee sponge cp mv ln install chmod chown \
 rm head tail less more bat diff cmp sort uniq cut tr nl tac rev column fold fmt base64 \
 xxd od sha256sum sha1sum md5sum shellcheck shfmt find fd sh bash zsh dash ksh fish csh \
 tcsh nu pwsh powershell ssh read export set unset declare local alias trap man clip \
 pbcopy xclip wl-copy slack mail mutt jest pytest vitest mocha petasos hermes cd sleep \
 docker kubectl rsync scp tar dialog whiptail zenity kdialog osascript tmux \
 prettier eslint mdcat glow pandoc split strings expect for case env sudo apply_patch \
 unzip zip exit return date bash-language-server shuf patch npm cargo yarn pnpm aspell \
 hunspell";

/// Options whose value is a text for people, or a name.
const ABOUT: &str = "-t -m -k -g --message --title --body --description --comment --grep --name \
    --text --subject --notes --reason --label --pattern --filter --note --summary";

/// Words behind which a command is only shown or stored.
const SHOWN: &str = "print println puts echo printf say log write console.log VALUES values INSERT \
    insert LIKE like io.write message Console.WriteLine putStrLn display format Println";

/// Parts of names by which a test, a build or a server finds its files.
const ENTRIES: &str = "config test spec file setup main app build index mod conf tasks manage wsgi asgi \
    plugin hook task rc. site extension package";

/// Endings of documents, which nothing runs.
const DOCUMENTS: &str = "\
    .md .txt .rst .log .adoc .csv .html .patch .diff";

/// Files that a program finds by their name or ending: the language, and who reads them.
const LOADED: &[(&str, &str, Language)] = &[
    (
        ".py",
        "pip pip3 pytest tox nox gunicorn uvicorn flask hypercorn celery python python3 \
         fab inv invoke scons doit locust mypy ipython streamlit conan waf poetry uv \
         hatch pdm django-admin scrapy airflow jupyter manim robot behave sphinx-build \
         coverage alembic gdb lldb blender mitmproxy mitmdump",
        Language::Python,
    ),
    (
        ".js",
        "npx npm yarn pnpm bun gulp grunt jest vitest mocha webpack vite rollup eslint \
         prettier babel node deno tsx ts-node ava tap karma cypress playwright next nuxt \
         astro jasmine esbuild parcel pm2 k6 mongosh mongo metro snowpack gatsby lint- \
         staged commitlint postcss tailwindcss bunx hardhat truffle",
        Language::JavaScript,
    ),
    (
        ".mjs",
        "npx npm yarn pnpm bun vite eslint node webpack rollup vitest next",
        Language::JavaScript,
    ),
    (".cjs", "npx npm yarn pnpm bun vite eslint node webpack rollup jest", Language::JavaScript),
    (
        ".ts",
        "npx npm yarn pnpm bun bunx deno tsx ts-node vite vitest playwright jest swc-node \
         node",
        Language::JavaScript,
    ),
    (
        ".rb",
        "rake rspec bundle rails rackup ruby cap thor guard puma brew vagrant chef-apply \
         chef-client minitest irb jekyll",
        Language::Ruby,
    ),
    ("Rakefile", "rake bundle", Language::Ruby),
    ("Gemfile", "bundle", Language::Ruby),
    ("Vagrantfile", "vagrant", Language::Ruby),
    ("Guardfile", "guard bundle", Language::Ruby),
    ("Capfile", "cap", Language::Ruby),
    ("Fastfile", "fastlane bundle", Language::Ruby),
    ("Brewfile", "brew", Language::Ruby),
    (".gemspec", "gem bundle", Language::Ruby),
    (".ru", "rackup puma unicorn", Language::Ruby),
    (".php", "php phpunit composer artisan pest psysh", Language::Php),
    (".pl", "prove perl", Language::Perl),
    (".PL", "perl", Language::Perl),
    (".t", "prove", Language::Perl),
    ("SConstruct", "scons", Language::Python),
    ("wscript", "waf", Language::Python),
    ("Snakefile", "snakemake", Language::Python),
    ("Tiltfile", "tilt", Language::Python),
    ("BUILD", "bazel buck please pants", Language::Other),
    (".go", "go mage gotestsum tinygo", Language::Other),
    (".rs", "cargo rustc rust-script", Language::Other),
    (".zig", "zig", Language::Other),
    (".nim", "nim nimble", Language::Other),
    (".nims", "nim nimble", Language::Other),
    (".nimble", "nimble", Language::Other),
    (".cr", "crystal shards", Language::Other),
    (".kts", "gradle gradlew kotlin kotlinc", Language::Other),
    (".kt", "kotlin kotlinc", Language::Other),
    (".gradle", "gradle gradlew", Language::Other),
    (".java", "java jshell jbang", Language::Other),
    (".groovy", "groovy", Language::Other),
    (".scala", "scala scala-cli amm", Language::Other),
    (".sc", "scala scala-cli amm mill", Language::Other),
    (".sbt", "sbt", Language::Other),
    (".swift", "swift swiftc", Language::Other),
    (".cs", "dotnet csharp", Language::Other),
    (".csx", "dotnet csi", Language::Other),
    (".fsx", "dotnet fsharpi", Language::Other),
    (".d", "dmd rdmd dub ldc2", Language::Other),
    (".v", "v", Language::Other),
    (".hs", "runhaskell runghc stack cabal ghc ghci", Language::Other),
    (".ml", "ocaml dune utop", Language::Other),
    (".ex", "elixir mix iex", Language::Other),
    (".exs", "elixir mix iex", Language::Other),
    (".erl", "erl escript erlc rebar3", Language::Other),
    (".clj", "clojure clj bb lein", Language::Other),
    (".cljs", "clojure shadow-cljs lumo", Language::Other),
    (".edn", "clojure clj bb", Language::Other),
    (".lisp", "sbcl clisp ecl", Language::Other),
    (".el", "emacs emacsclient", Language::Other),
    (".scm", "guile racket csi", Language::Other),
    (".rkt", "racket raco", Language::Other),
    (
        ".lua",
        "lua luajit nvim texlua busted wrk love redis-cli lapis premake5 xmake",
        Language::Other,
    ),
    (".jl", "julia", Language::Other),
    (".R", "R r rscript", Language::Other),
    (".Rmd", "r rscript", Language::Other),
    (".qmd", "quarto", Language::Other),
    (".m", "octave matlab", Language::Other),
    (".raku", "raku", Language::Other),
    (".tcl", "tclsh wish expect vivado", Language::Tcl),
    (".ps1", "pwsh powershell", Language::PowerShell),
    (".psm1", "pwsh powershell", Language::PowerShell),
    (".bats", "bats", Language::Shell),
    ("PKGBUILD", "makepkg", Language::Shell),
    ("APKBUILD", "abuild", Language::Shell),
    (".envrc", "direnv", Language::Shell),
    ("configure", "autoreconf", Language::Shell),
    ("Makefile", "make gmake bmake checkmake remake", Language::Make),
    ("GNUmakefile", "make gmake remake", Language::Make),
    (".mk", "make gmake bmake remake", Language::Make),
    ("justfile", "just", Language::Make),
];

/// Endings and names of settings whose readers run commands out of them.
const SETTINGS: &str = "\
    .json .yml .yaml .toml .tf .hcl .cfg .conf .ini .xml .ac .m4 .am .cmake CMakeLists.txt \
    meson.build .ninja .gdb .sql .vim .tex .latex .ms .nix .dhall .jsonnet .rules .service \
    .timer .bazel Dockerfile Procfile Containerfile Earthfile Jenkinsfile Taskfile WORKSPACE \
    .gitconfig .properties rc .mill .lldb .expect .roff .pp .sls .j2 .nse .gp .plt .do .in \
    .dot .opts .params .scr .lftp .ftp .spec .control .exrc";

/// Programs that read settings only to show or check them.
const CHECKERS: &str = "\
    jq yq yamllint jsonlint taplo hadolint actionlint tflint cat xmllint kubeval kubeconform \
    ls code promtool sqlfluff checkov ansible-lint";

impl Engine<'_> {
    /// Follows commands in what `call` is given, where nothing was found about it so far.
    pub(super) fn follow_text(&mut self, call: &Call<'_>) {
        let loaded = self.loaded(call);
        for (language, text) in loaded {
            self.run_loaded(language, &text, call.span);
        }
        if PLAIN.contains(&call.program) {
            return;
        }
        self.follow_publishing(call);
        self.follow_substitution(call);
        if lists(DATA, call.program) {
            return;
        }
        self.follow_words(call);
        // A project's own program may do anything with a text, or nothing.
        if call.name.text.contains('/') {
            return;
        }
        let mut option = "";
        for arg in call.args.iter().take(24) {
            let about = std::mem::replace(&mut option, arg.text.as_str());
            if arg.text.contains(char::is_whitespace) && !lists(ABOUT, about) {
                self.run_phrases(&arg.text, call.span);
                self.run_statement(&arg.text, call);
            }
        }
        if let Some(text) = &call.stdin.text {
            self.run_phrases(text, call.span);
            self.run_statement(text, call);
        }
    }

    /// `sed 's/…/command/e'` runs each line as it is after the change.
    fn follow_substitution(&mut self, call: &Call<'_>) {
        if !lists("sed gsed", call.program) {
            return;
        }
        let executed = call.args.iter().find_map(|arg| executed(&arg.text).map(|code| (arg, code)));
        if let Some((arg, code)) = executed {
            let input = call.stdin.text.as_deref().unwrap_or_default();
            let line = input.lines().next().unwrap_or_default();
            let code = arg.with_text(format!("{code}{line}"));
            self.run_inner(Inner::Shell(code, Vec::new()), call.span);
        }
    }

    /// A statement of a database, as it is spelt for a client that no table knows.
    fn run_statement(&mut self, text: &str, call: &Call<'_>) {
        let first = text.split_whitespace().next().unwrap_or_default();
        let verb = lists("DROP TRUNCATE DELETE REMOVE MATCH ALTER BEGIN", first);
        if verb && crate::sql::is_destructive(text) {
            self.report.signal(Signal::DestructiveSql, call.span, call.name.text.clone());
        }
    }

    /// A command that stands word by word behind the name and options of another program.
    fn follow_words(&mut self, call: &Call<'_>) {
        let starts = |at: &usize| {
            let base = call.args.get(*at).map(|arg| base(&arg.text)).unwrap_or_default();
            announces(base, call.args.get(at + 1).map_or("", |arg| arg.text.as_str()))
        };
        let Some(at) = (0..call.args.len().min(24)).find(starts) else { return };
        let argv = call.args.get(at..).unwrap_or_default().to_vec();
        self.via.push("unknown program");
        self.run_inner(Inner::Argv(argv), call.span);
        self.via.pop();
    }

    /// Files of this line that `call` reads as a program: named by it, or found by convention.
    fn loaded(&mut self, call: &Call<'_>) -> Vec<(Option<Language>, String)> {
        if self.state.files.is_empty() || lists(CHECKERS, call.program) {
            return Vec::new();
        }
        let plain =
            call.program != "ssh" && (PLAIN.contains(&call.program) || lists(DATA, call.program));
        let named: Vec<String> = call
            .args
            .iter()
            .take(24)
            .flat_map(|arg| arg.text.split(['=', ',', '@', ':']).chain([arg.text.as_str()]))
            .filter(|text| !text.is_empty())
            .map(|text| self.resolve(text))
            .collect();
        let mut found = Vec::new();
        for (path, stream) in self.state.files.iter().take(64) {
            let Some(text) = &stream.text else { continue };
            let name = path.rsplit('/').next().unwrap_or(path);
            let row = LOADED.iter().find(|(ending, _, _)| name.ends_with(ending));
            let reads = row.is_some_and(|(_, readers, _)| lists(readers, call.program));
            let document = DOCUMENTS.split(' ').any(|ending| name.ends_with(ending))
                && name != "CMakeLists.txt";
            let settings = SETTINGS.split(' ').any(|ending| name.ends_with(ending));
            let stem = name.split('.').next().unwrap_or(name);
            let entry = named.contains(path)
                || path.ends_with(".go")
                || row.is_some_and(|(ending, _, _)| !ending.starts_with('.'))
                || ENTRIES.split_whitespace().any(|part| name.to_ascii_lowercase().contains(part))
                || call
                    .args
                    .iter()
                    .any(|arg| arg.text.split([':', '.', '/']).any(|part| part == stem));
            if reads && entry {
                found.push((row.map(|row| row.2), text.clone()));
            } else if !plain && (named.contains(path) && !document || settings) {
                found.push((None, text.clone()));
            }
        }
        found
    }

    fn run_loaded(&mut self, language: Option<Language>, text: &str, span: Span) {
        let before = self.report.analysis.findings.len();
        if let Some(language) = language {
            self.run_code(language, Arg::new(text, span), Vec::new(), span);
        }
        if self.report.analysis.findings.len() == before
            && matches!(language, None | Some(Language::Other | Language::Shell))
        {
            self.run_phrases(text, span);
        }
    }

    /// Arguments that a builtin evaluates by itself: subscripts, and commands it calls back.
    pub(super) fn follow_evaluated(&mut self, program: &str, args: &[Arg], span: Span) {
        if lists("let test [ unset read printf wait declare", program) {
            for arg in args.iter().take(16) {
                if let Some(code) = subscript(&arg.text) {
                    self.run_inner(Inner::Shell(arg.with_text(code), Vec::new()), span);
                }
            }
        }
        if lists("mapfile readarray compgen", program) {
            for pair in args.windows(2).take(16) {
                if let [flag, code] = pair
                    && flag.is("-C")
                {
                    self.run_inner(Inner::Shell(code.clone(), Vec::new()), span);
                }
            }
        }
    }

    /// Follows every command that stands in `text` in plain sight.
    pub(super) fn run_phrases(&mut self, text: &str, span: Span) {
        if !self.charge(text.len().min(TEXT_MAX) * 4, span) {
            return;
        }
        for words in phrases(text) {
            if !self.charge(words.len() * 100 + 300, span) {
                return;
            }
            let argv = words.into_iter().map(|word| Arg::new(word, span)).collect();
            self.via.push("text");
            self.run_inner(Inner::Argv(argv), span);
            self.via.pop();
        }
    }
}

/// Whether `word` is one of `list`.
pub(super) fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|entry| entry == word)
}

/// The command that is substituted in the subscript of a name: `a[$(code)]`.
fn subscript(text: &str) -> Option<&str> {
    let (_, inside) = text.split_once('[')?;
    let code = inside.split_once("$(").or_else(|| inside.split_once('`'))?.1;
    code.split([')', '`']).next()
}

/// What a substitution with the flag `e` puts in.
fn executed(script: &str) -> Option<&str> {
    let rest = script.strip_prefix('s')?;
    let sign = rest.chars().next().filter(char::is_ascii_punctuation)?;
    let mut fields = rest.split(sign).skip(2);
    let code = fields.next()?;
    let flags = fields.next()?;
    let known = flags.chars().all(|flag| flag.is_ascii_digit() || "gepiIm".contains(flag));
    (known && flags.contains('e')).then_some(code)
}

fn base(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or_default()
}

/// The words of every command in `text`; quotes and brackets part words, as lists of them do.
fn phrases(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for line in text.lines().flat_map(|line| line.split([';', '|', '&', '`'])).take(256) {
        let words: Vec<&str> = line
            .split(|sign: char| {
                sign.is_whitespace()
                    || matches!(
                        sign,
                        '"' | '\''
                            | ','
                            | '('
                            | ')'
                            | '['
                            | ']'
                            | '{'
                            | '}'
                            | '!'
                            | '\\'
                            | '@'
                            | '+'
                    )
                    || sign == '='
            })
            .filter(|word| !word.is_empty())
            .take(64)
            .collect();
        let shown = |at: usize| {
            words.get(..at).is_some_and(|head| head.iter().any(|word| lists(SHOWN, word)))
        };
        let start = (0..words.len()).find(|at| {
            let word = words.get(*at).copied().unwrap_or_default();
            // Quotes part words here, so that the code of a shell is found by itself.
            !lists("sh bash zsh dash ksh", base(word))
                && announces(base(word), words.get(at + 1).copied().unwrap_or_default())
        });
        if let Some(start) = start.filter(|at| !shown(*at)) {
            let own = words.get(start..).unwrap_or_default();
            found.push(own.iter().map(|word| word.replace("$HOME", "~")).collect());
        }
        if found.len() >= COMMANDS_MAX {
            break;
        }
    }
    found
}
