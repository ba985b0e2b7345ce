//! What editors are told to do, read by the editors themselves.

use petasos_testkit::Home;

use crate::run;

/// Runs an editor without a window; gives what it printed.
#[expect(clippy::disallowed_methods, reason = "editors are programs of their own")]
fn read_by(program: &str, arguments: &[&str], home: &Home) -> Option<String> {
    let ran = std::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(home.workspace())
        .output();
    let ran = ran.ok()?;
    let told = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{program}: {told}");
    Some(told.into_owned())
}

/// The lines for an editor, as they are printed below their heading.
fn lines(editor: &str) -> String {
    let printed = run(&["acp", "--setup", editor]).stdout;
    printed.split_once("\n\n").expect("a heading and the lines").1.to_owned()
}

/// Neovim runs the lines with a plugin that only notes what it is given.
const LUA: &str = r#"
local given
package.preload["codecompanion"] = function() return { setup = function(all) given = all end } end
package.preload["codecompanion.adapters"] = function()
  return { extend = function(_, changes) return changes end }
end
dofile("init.lua")
local adapter = given.adapters.acp.petasos()
assert(given.interactions.chat.adapter == "petasos")
io.stdout:write(table.concat(adapter.commands.default, " "), "\n")
"#;

#[test]
fn neovim_runs_its_lines() {
    let home = Home::temp();
    home.write("work/init.lua", lines("neovim"));
    home.write("work/read.lua", LUA);
    let read = ["--headless", "-u", "NONE", "-i", "NONE", "-c", "luafile read.lua", "-c", "qa!"];
    match read_by("nvim", &read, &home) {
        Some(told) => assert!(told.contains("petasos acp"), "{told}"),
        None => petasos_testkit::skip("neovim_runs_its_lines", "nvim", "it is not installed"),
    }
}

/// Emacs runs the lines with a package that only notes what it is given.
const LISP: &str = r#"
(require 'cl-lib)
(defvar agent-shell-agent-configs nil)
(cl-defun agent-shell-make-agent-config (&rest all) all)
(cl-defun agent-shell--make-acp-client (&key command command-params context-buffer)
  (ignore context-buffer)
  (mapconcat #'identity (cons command command-params) " "))
(provide 'agent-shell)
(load (expand-file-name "init.el") nil t)
(let ((agent (car agent-shell-agent-configs)))
  (princ (format "%s: %s\n" (plist-get agent :identifier)
                 (funcall (plist-get agent :client-maker) (current-buffer)))))
"#;

#[test]
fn emacs_runs_its_lines() {
    let home = Home::temp();
    home.write("work/init.el", lines("emacs"));
    home.write("work/read.el", LISP);
    match read_by("emacs", &["--batch", "-Q", "-l", "read.el"], &home) {
        Some(told) => assert!(told.contains("petasos: petasos acp"), "{told}"),
        None => petasos_testkit::skip("emacs_runs_its_lines", "emacs", "it is not installed"),
    }
}
