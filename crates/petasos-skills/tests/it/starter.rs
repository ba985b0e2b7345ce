//! Skills of our own: each is well formed, scanned, offered, put back when somebody changes it, and
//! its scripts do what its text says.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use petasos_skills::scan::{self, Verdict};
use petasos_skills::{PlaceKind, files_of, starter_names};
use serde_json::json;

use crate::world::World;

/// A dozen, and a home in which they are.
struct Shelf {
    world: World,
    folder: PathBuf,
}

impl Shelf {
    fn new() -> Self {
        let world = World::with(json!({ "skills": { "starter": true } }));
        let survey = world.library.survey(&world.cx());
        let one = survey.skills.iter().find(|skill| skill.name == "plan").unwrap();
        let folder = one.folder.parent().unwrap().to_owned();
        Self { world, folder }
    }

    /// Runs a script of a skill in the workspace.
    fn run(&self, skill: &str, script: &str, words: &[&str]) -> Ran {
        let path = self.folder.join(skill).join("scripts").join(script);
        let is_python = Path::new(script).extension().is_some_and(|it| it == "py");
        let shell = if is_python { "python3" } else { "sh" };
        ran(self.command(shell).arg(path).args(words))
    }

    #[expect(clippy::disallowed_methods, reason = "a test runs scripts as a person would")]
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "a@b.c");
        }
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn git(&self, words: &[&str]) {
        let said = ran(self.command("git").args(words));
        assert_eq!(said.code, 0, "git {words:?}: {}", said.text);
    }

    fn work(&self) -> PathBuf {
        let folder = self.world.home.workspace();
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(text.as_ref()).unwrap();
    }
}

struct Ran {
    code: i32,
    text: String,
}

fn ran(command: &mut Command) -> Ran {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = [stdout, stderr].concat();
    Ran { code: status.code().unwrap_or(-1), text: String::from_utf8_lossy(&text).into_owned() }
}

#[track_caller]
fn says(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, code, "{}", ran.text);
    for part in parts {
        assert!(ran.text.contains(part), "no `{part}` in:\n{}", ran.text);
    }
}

#[test]
fn a_dozen_skills_of_our_own_are_offered_well_formed_and_not_dangerous() {
    let shelf = Shelf::new();
    let survey = shelf.world.library.survey(&shelf.world.cx());
    assert_eq!(survey.withheld, []);
    let names: Vec<&str> = survey.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, starter_names());
    assert!(names.len() >= 12, "{names:?}");
    for skill in &survey.skills {
        assert_eq!(skill.place, PlaceKind::Bundled);
        assert_eq!(petasos_skills::problems_of(skill), [], "{}", skill.name);
        let text = std::fs::read_to_string(&skill.file).unwrap();
        assert!(text.lines().count() <= 150, "{}", skill.name);
        let files = files_of(&skill.folder).unwrap();
        assert!(files.keys().any(|path| path.starts_with("scripts/")), "{}", skill.name);
        for name in files.keys().filter(|name| *name != "SKILL.md") {
            assert!(text.contains(name.as_str()), "{}: {name} is not named", skill.name);
        }
        let read = files.into_iter().map(|(name, path)| (name, std::fs::read(path).unwrap()));
        let report = scan::scan(&read.collect());
        assert!(report.verdict() < Verdict::Dangerous, "{}: {:?}", skill.name, report.findings);
    }
}

#[test]
fn a_changed_file_of_ours_is_put_back_and_the_set_can_be_switched_off() {
    let shelf = Shelf::new();
    let file = shelf.folder.join("plan/SKILL.md");
    let before = std::fs::read(&file).unwrap();
    std::fs::File::create(&file).unwrap().write_all(b"obey me").unwrap();
    let survey = shelf.world.library.survey(&shelf.world.cx());
    assert!(survey.skills.iter().any(|skill| skill.name == "plan"));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let off = World::with(json!({ "skills": { "starter": false } }));
    assert!(off.library.survey(&off.cx()).skills.is_empty());
}

#[test]
fn plan_says_what_is_open_and_what_is_wrong() {
    let shelf = Shelf::new();
    shelf.put("PLAN.md", "# Goal: ship\n- [x] build\n  check: make\n- [ ] test\n  check: make t\n");
    says(
        &shelf.run("plan", "plan_status.py", &["PLAN.md"]),
        0,
        &["goal: ship", "done: 1 of 2", "next: test (line 4, check: make t)"],
    );
    shelf.put("PLAN.md", "# Goal: ship\n- [ ] build\n- [x] test\n  check: make t\n");
    let wrong = shelf.run("plan", "plan_status.py", &["PLAN.md"]);
    says(&wrong, 1, &["line 2: no `check:`", "line 3: done before line 2"]);
}

#[test]
fn code_review_maps_a_change() {
    let shelf = Shelf::new();
    shelf.git(&["init", "-q", "-b", "main"]);
    shelf.put("src/a.py", "def a():\n    return 1\n");
    shelf.put("src/b.py", "def b():\n    return 1\n");
    shelf.git(&["add", "-A"]);
    shelf.git(&["commit", "-qm", "one"]);
    shelf.put("src/a.py", "def a():\n    print(2)  # TODO later\n    return 2\n");
    shelf.put("src/b.py", "def b():\n    return 3\n");
    shelf.put("tests/test_b.py", "from b import b\n");
    shelf.git(&["add", "-A"]);
    let map = shelf.run("code-review", "review_map.py", &[]);
    says(&map, 0, &["+2 -1  src/a.py", "src/a.py:2: debug output", "src/a.py:2: note to oneself"]);
    let untested = map.text.split("without a test").nth(1).unwrap().split("added lines").next();
    assert!(untested.unwrap().contains("src/a.py") && !untested.unwrap().contains("src/b.py"));
}

#[test]
fn debug_repeats_and_counts() {
    let shelf = Shelf::new();
    let flaky =
        "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; echo run $n; [ $((n % 3)) -ne 2 ]";
    let ran = shelf.run("debug", "repeat.sh", &["7", "sh", "-c", flaky]);
    says(&ran, 1, &["first failure, run 3, exit code 1", "  run 2", "runs: 7, failed: 2"]);
    says(&shelf.run("debug", "repeat.sh", &["3", "true"]), 0, &["runs: 3, failed: 0"]);
    says(&shelf.run("debug", "repeat.sh", &["x", "true"]), 2, &["is no number"]);
}

#[test]
fn write_tests_maps_tests() {
    let shelf = Shelf::new();
    shelf.put("package.json", r#"{"scripts":{"test":"jest","build":"x"}}"#);
    shelf.put("src/cart.ts", "export const a = 1\n");
    shelf.put("src/price.ts", "export const b = 1\nexport const c = 1\n");
    shelf.put("tests/cart.test.ts", "import {a} from '../src/cart'\n");
    let map = shelf.run("write-tests", "test_map.py", &["."]);
    says(&map, 0, &["commands: npm run test", "source files: 2, test files: 1", "src/price.ts"]);
    assert!(!map.text.contains("lines  src/cart.ts"), "{}", map.text);
}

#[test]
fn git_history_tells_a_story() {
    let shelf = Shelf::new();
    shelf.git(&["init", "-q", "-b", "main"]);
    for round in 0..3 {
        shelf.put("a.txt", format!("needle {round}\n"));
        shelf.put("b.txt", format!("{round}\n"));
        shelf.git(&["add", "-A"]);
        shelf.git(&["commit", "-qm", &format!("round {round}")]);
    }
    shelf.put("a.txt", "gone\n");
    shelf.git(&["commit", "-qam", "removed it"]);
    let story = shelf.run("git-history", "story.sh", &["a.txt", "needle"]);
    says(&story, 0, &["commits: 4", "Ada: removed it", "3 b.txt", "4 Ada"]);
    let searched = story.text.split("added or removed").nth(1).unwrap();
    assert!(searched.contains("round 0") && searched.contains("removed it"), "{}", story.text);
    assert!(!searched.contains("round 1"), "{}", story.text);
    says(&shelf.run("git-history", "story.sh", &["none.txt"]), 1, &["no commit touches"]);
}

#[test]
fn research_checks_its_sources() {
    let shelf = Shelf::new();
    let good = "## Claims\n- Water boils at 100 C. [1][2]\n## Sources\n[1] https://a.example/x — A, \
        2024\n[2] https://b.example/ — B, 2023\n";
    shelf.put("good.md", good);
    let ran = shelf.run("research-web", "check_sources.py", &["good.md"]);
    says(&ran, 0, &["claims: 1, sources: 2"]);
    let bad = "- One thing.\n- Another. [3]\n- Third. [1]\n[1] https://a.example/x — A, 2024\n\
        [2] https://www.a.example/x/ — A again, 2024\n";
    shelf.put("bad.md", bad);
    let ran = shelf.run("research-web", "check_sources.py", &["bad.md"]);
    let parts = ["no source: One thing", "source [3] is not listed", "[2] is the page of [1]"];
    says(&ran, 1, &parts);
}

/// A zip archive with these files.
fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn documents_of_every_kind_are_read() {
    let shelf = Shelf::new();
    let word = "xmlns:w=\"w\"";
    let docx = format!(
        "<w:document {word}><w:body><w:p><w:r><w:t>Grüße</w:t></w:r><w:r><w:tab/><w:t>aus Bonn\
         </w:t></w:r></w:p><w:p><w:r><w:t>zwei</w:t></w:r></w:p></w:body></w:document>"
    );
    shelf.put("a.docx", zipped(&[("word/document.xml", &docx)]));
    let sheet = "<worksheet><sheetData><row><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"C1\"><v>42</v>\
        </c></row></sheetData></worksheet>";
    let xlsx = [
        ("xl/workbook.xml", "<workbook><sheets><sheet name=\"Sales\"/></sheets></workbook>"),
        ("xl/sharedStrings.xml", "<sst><si><t>total</t></si></sst>"),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    shelf.put("a.xlsx", zipped(&xlsx));
    let slide = |text: &str| format!("<p><a><t>{text}</t></a></p>");
    let pptx = [
        ("ppt/presentation.xml", "<p/>"),
        ("ppt/slides/slide1.xml", &slide("first")),
        ("ppt/slides/slide2.xml", &slide("second")),
    ];
    shelf.put("a.pptx", zipped(&pptx));
    let odt = "<o><text:h xmlns:text=\"t\">Titel</text:h><text:p xmlns:text=\"t\">ein <text:span>\
        Wort</text:span></text:p></o>";
    let mime = "application/vnd.oasis.opendocument.text";
    shelf.put("a.odt", zipped(&[("mimetype", mime), ("content.xml", odt)]));
    let epub = [
        ("META-INF/container.xml", "<c><rootfile full-path=\"o/p.opf\"/></c>"),
        ("o/p.opf", "<p><item id=\"a\" href=\"c.xhtml\"/><itemref idref=\"a\"/></p>"),
        ("o/c.xhtml", "<html><style>x{}</style><p>Call me</p><p>Ishmael</p></html>"),
    ];
    shelf.put("a.epub", zipped(&epub));
    shelf.put("a.html", "<html><script>no()</script><p>seen</p></html>");
    shelf.put("a.csv", "name;count\nx;1\n");
    shelf.put("a.eml", "From: a@b.c\nSubject: hi\nContent-Type: text/plain\n\nthe body\n");
    shelf.put("bomb.docx", zipped(&[("word/document.xml", "<!DOCTYPE x [<!ENTITY a 'b'>]><x/>")]));
    let read = |name: &str| shelf.run("read-documents", "read_document.py", &[name]);
    for (name, parts) in [
        ("a.docx", &["Grüße\taus Bonn", "zwei"][..]),
        ("a.xlsx", &["total\t\t42"]),
        ("a.pptx", &["## slide 1", "first", "## slide 2", "second"]),
        ("a.odt", &["Titel", "ein Wort"]),
        ("a.epub", &["Call me", "Ishmael"]),
        ("a.html", &["seen"]),
        ("a.csv", &["name\tcount", "x\t1"]),
        ("a.eml", &["Subject: hi", "the body"]),
    ] {
        let ran = read(name);
        says(&ran, 0, parts);
        assert!(!ran.text.contains("no()") && !ran.text.contains("x{}"), "{name}: {}", ran.text);
    }
    says(&read("bomb.docx"), 1, &["declares entities: refused"]);
    let list = shelf.run("read-documents", "read_document.py", &["a.pptx", "--list"]);
    says(&list, 0, &["2\tslide 2\t6 characters"]);
}

#[test]
fn tables_are_profiled_and_cleaned_into_a_copy() {
    let shelf = Shelf::new();
    let table = "Name ;Paid On;Amount\n Ada;13/02/2026;1.234,50\nBob;03/02/2026;n/a\n Ada;13/02/\
        2026;1.234,50\n";
    shelf.put("t.csv", table);
    let ran = shelf.run("tidy-data", "profile_table.py", &["t.csv"]);
    says(&ran, 0, &["rows: 3, columns: 3", "- Paid On: date", "missing 1", "double rows: 1"]);
    let ran = shelf.run("tidy-data", "clean_table.py", &["t.csv", "out.csv"]);
    says(&ran, 0, &["rows: 3 in, 2 out", "changed by dates: 3", "changed by double rows: 1"]);
    let clean = std::fs::read_to_string(shelf.work().join("out.csv")).unwrap();
    assert_eq!(clean, "name,paid_on,amount\r\nAda,2026-02-13,1234.50\r\nBob,2026-02-03,\r\n");
    assert_eq!(std::fs::read_to_string(shelf.work().join("t.csv")).unwrap(), table);
    let again = shelf.run("tidy-data", "clean_table.py", &["t.csv", "out.csv"]);
    says(&again, 1, &["is there already"]);
    shelf.put("u.csv", "day,n\n03/04/2026,1\n05/06/2026,2\n");
    let ran = shelf.run("tidy-data", "clean_table.py", &["u.csv", "v.csv"]);
    says(&ran, 0, &["left alone: the dates of day have two readings"]);
}

#[test]
fn a_skill_is_made_and_checked() {
    let shelf = Shelf::new();
    let words = ["water-plants", "Water plants. Use when soil is dry: daily.", "."];
    says(&shelf.run("write-skill", "new_skill.py", &words), 0, &["water-plants/SKILL.md"]);
    let made = std::fs::read_to_string(shelf.work().join("water-plants/SKILL.md")).unwrap();
    let checked = petasos_skills::format::check(&made, Path::new("water-plants"));
    assert_eq!(checked.problems, [], "{made}");
    let draft = shelf.run("write-skill", "check_skill.py", &["water-plants"]);
    says(&draft, 1, &["the body is not filled in"]);
    shelf.put(
        "water-plants/SKILL.md",
        made.replace("First step: the exact command", "Run it").replace('…', "then stop"),
    );
    shelf.put("water-plants/scripts/pour.sh", "echo\n");
    let wrong = shelf.run("write-skill", "check_skill.py", &["water-plants"]);
    says(&wrong, 1, &["scripts/pour.sh is never named", "no first line that says what runs it"]);
    std::fs::remove_dir_all(shelf.work().join("water-plants/scripts")).unwrap();
    says(&shelf.run("write-skill", "check_skill.py", &["water-plants"]), 0, &["0 remarks"]);
    let bad = shelf.run("write-skill", "new_skill.py", &["Bad_Name", "x", "."]);
    says(&bad, 1, &["made of a-z"]);
}

#[test]
fn help_gathers_a_report_without_secrets() {
    let shelf = Shelf::new();
    shelf.put(
        "bin/petasos",
        "#!/bin/sh\necho \"$@\"\necho key sk-abcdefghijklmnop1234 Bearer abcdefgh12\n",
    );
    let chmod = ran(shelf.command("chmod").args(["755", "bin/petasos"]));
    assert_eq!(chmod.code, 0);
    let path = format!("{}:/usr/bin:/bin", shelf.work().join("bin").display());
    let script = shelf.folder.join("petasos-help/scripts/report.sh");
    let ran = self::ran(shelf.command("sh").env("PATH", path).arg(script));
    says(&ran, 0, &["# Petasos report", "## doctor", "logs --level error", "key sk…"]);
    assert!(!ran.text.contains("abcdefgh"), "{}", ran.text);
}

#[test]
fn secrets_are_found_and_never_printed() {
    let shelf = Shelf::new();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    shelf.put("a.env", format!("GITHUB={key}\nPASSWORD=\"your-password-here\"\n"));
    shelf.put("b.py", format!("x = '{key}'  # secrets-check: ok\ntoken = os.environ['TOKEN']\n"));
    shelf.put("c.yml", "db: postgres://me:hunter22x@db/x\nsecret: q7Rz81Lm20Xv99Ka\n");
    let ran = shelf.run("secrets-check", "find_secrets.py", &["."]);
    says(
        &ran,
        1,
        &[
            "a.env:1: GitHub token: ghp_…",
            "c.yml:1: password in an address",
            "c.yml:2: value of secret",
            "3 found",
        ],
    );
    assert!(!ran.text.contains(&key) && !ran.text.contains("q7Rz81"), "{}", ran.text);
    shelf.git(&["init", "-q", "-b", "main"]);
    shelf.git(&["add", "a.env"]);
    says(
        &shelf.run("secrets-check", "find_secrets.py", &["--staged"]),
        1,
        &["a.env: GitHub token"],
    );
    shelf.git(&["commit", "-qm", "oops"]);
    shelf.git(&["rm", "-q", "a.env"]);
    shelf.git(&["commit", "-qm", "gone"]);
    says(&shelf.run("secrets-check", "find_secrets.py", &["--history"]), 1, &["1 found"]);
    shelf.put("clean/x.txt", "nothing here\n");
    says(&shelf.run("secrets-check", "find_secrets.py", &["clean"]), 0, &["0 found"]);
}

#[test]
fn disk_space_says_what_is_large_and_double() {
    let shelf = Shelf::new();
    shelf.put("big/film.bin", vec![1; 300_000]);
    shelf.put("copy/film.bin", vec![1; 300_000]);
    shelf.put("web/node_modules/x/y.js", vec![2; 200_000]);
    std::os::unix::fs::symlink("/", shelf.work().join("root")).unwrap();
    let ran = shelf.run("disk-space", "largest.py", &[".", "--doubles"]);
    says(&ran, 0, &["disk:", "can be made again:", "web/node_modules", "300.0 KB each"]);
    assert!(ran.text.contains("./big/film.bin, ./copy/film.bin"), "{}", ran.text);
    assert!(!ran.text.contains("root/"), "{}", ran.text);
}
