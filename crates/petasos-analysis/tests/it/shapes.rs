//! Inputs made to hurt, of any size; shared by the tests and the benchmark.

/// A name and a command of about `size` bytes for every shape.
pub(crate) fn all(size: usize) -> Vec<(&'static str, String)> {
    let mut found = repeated(size);
    found.extend(framed(size));
    found.extend(grown(size));
    found
}

fn filled(piece: &str, size: usize) -> String {
    piece.repeat((size / piece.len()).max(1))
}

/// One piece over and over, then a command.
fn repeated(size: usize) -> Vec<(&'static str, String)> {
    [
        ("sudo", "sudo "),
        ("assignments before", "env A=1 "),
        ("nice", "nice -n 1 "),
        ("xargs", "xargs "),
        ("eval", "eval "),
        ("ssh", "ssh h "),
        ("containers", "docker exec c "),
        ("busybox", "busybox "),
        ("shells", "bash -c "),
        ("lists", "a;"),
        ("background", "a&"),
        ("alternatives", "a||"),
        ("pipes", "a|b|"),
        ("subshells", "(a=1);"),
        ("functions called", "f() { ls; };f;"),
        ("branches", "if a;then b=1;fi;"),
        ("loops", "while a;do b;done;"),
        ("ranges", "echo {1..100};"),
        ("braces", "{a,b}"),
        ("patterns as names", "r?m;"),
        ("documents", "cat <<E\nx\nE\n"),
        ("open documents", "<<A "),
        ("strings read", "cat <<<a;"),
        ("arms", "case x in a) ls;; esac;"),
        ("arithmetic", "((a=a*a+b));"),
        ("array slots", "a[1]=2;"),
        ("array growth", "a+=(x);"),
        ("text growth", "a+=x;"),
        ("open substitutions", "$("),
        ("substitutions", "$(ls)"),
        ("backquotes", "`ls` "),
        ("open backquotes", "`\\`"),
        ("open quotes", "\"$("),
        ("escapes", "\\a"),
        ("wide letters", "\u{ff52}\u{ff4d} x;"),
        ("terminal escapes", "\u{1b}[31m"),
        ("continuations", "\\\n"),
        ("directories", "cd abc;"),
        ("files", "a>b;"),
        ("processes", "cat <(ls);"),
        ("defaults", "${a:-"),
        ("aliases", "alias a='a a';a;"),
        ("filters", "seq 500 | cat;"),
        ("copies of programs", "cp /bin/ls a;./a;"),
        ("hooks", "echo ls>.git/hooks/a;git commit;"),
        ("patterns deleted", "cd /tmp;rm -rf *;"),
        ("packages installed", "npm ci;"),
        ("copied away", "scp x h:;"),
        ("package scripts", "npm pkg set scripts.a=ls;npm run a;"),
        ("last arguments", "echo $_;"),
        ("references", "declare -n a=b;echo $a;"),
    ]
    .into_iter()
    .map(|(name, piece)| (name, filled(piece, size) + "ls"))
    .collect()
}

/// Much of one thing inside one command.
fn framed(size: usize) -> Vec<(&'static str, String)> {
    let inside =
        |before: &str, piece: &str, after: &str| format!("{before}{}{after}", filled(piece, size));
    vec![
        ("arguments", inside("rm -rf ", "a ", "")),
        ("sources", inside("cp ", "a ", "/etc/")),
        ("files of make", inside("make ", "-f x all ", "")),
        ("files of an editor", inside("vim ", "x ", "")),
        ("mounts", inside("docker run ", "-v /a:/b ", "alpine ls")),
        ("locals", "x=(a a a);f(){ ".to_owned() + &filled("local x;", size) + "};f"),
        ("far slots", grown_slots(size)),
        ("targets", inside("ls | tee ", "a ", "")),
        ("roots", inside("find ", "a ", "-delete")),
        ("clauses", inside("find . ", "-exec rm {} \\; ", "")),
        ("steps up", inside("rm -rf ", "/..", "")),
        ("alternatives of a brace", inside("echo {", "a,", "b}")),
        ("an array", inside("a=(", "x ", "); echo \"${a[@]}\"")),
        ("positionals", inside("set -- ", "a ", "; echo \"$@\"")),
        ("program text", inside("python3 -c '", "f(\"x\" + a);", "'")),
        ("open calls", inside("python3 -c '", "f([", "'")),
        ("sums of text", inside("node -e 'x=", "\"a\"+", "\"b\"'")),
        ("doubled text", inside("python3 -c 'a=\"x\"\n", "a=a+a\n", "'")),
        ("stream edits", inside("echo a | sed '", "s/a/bb/;", "' | sh")),
        ("conditions", inside("psql -c 'DELETE FROM t WHERE ", "a OR ", "1'")),
        ("decoded text", inside("echo ", "bHM7", " | base64 -d | sh")),
        ("a document for a shell", inside("bash <<E\n", "ls; ", "\nE\n")),
        ("a makefile", inside("make -f - <<E\n", "a:\n\tls\n", "E\n")),
        ("addresses", inside("wget ", "http://a.b/ ", "")),
        ("remote copies", inside("scp ", "a ", "h:")),
        ("joined names", inside("php -r '", "$a.", "'")),
        ("shells fed", inside("python3 -c '", "system(\"sh\");write(\"ls\");", "'")),
        ("nested codes", inside("python3 -c '", "chr(x) for x in ", "'")),
        ("nested input", inside("python3 -c '", "input(", "'")),
        ("nested maps", inside("perl -e '", "map{chr}(", "'")),
        ("loose calls", inside("perl -e '", "reverse ", "'")),
        ("labels", inside("swift -e '", "f(a: ", "'")),
        ("printed lines", inside("python3 -c '", "print(\"a\");", "' | sh")),
        ("lines read", inside("while read l; do eval $l; done <<E\n", "ls\n", "E\n")),
    ]
}

/// Two halves that multiply, or depth that multiplies.
fn grown(size: usize) -> Vec<(&'static str, String)> {
    let both = |before: &str, first: &str, between: &str, second: &str| {
        format!("{before}{}{between}{}", filled(first, size / 2), filled(second, size / 2))
    };
    vec![
        ("shifts", both("set -- ", "a ", ";", "shift;")),
        ("slots of an array", both("a=(", "x ", ");", "echo \"${a[1]}\";")),
        ("copies of an array", both("a=(", "x ", ");", "echo \"${a[@]}\";")),
        ("translations", both("echo ", "x", "", "|tr a b")),
        ("reversals", both("echo ", "x", "", "|rev")),
        ("replacements", both("x=", "a", ";", "echo ${x//a/b};")),
        ("words of a value", both("x='", "a ", "';", "for i in $x;do :;done;")),
        ("names in a value", both("x='", "a ", "';", "rm $x;")),
        ("raised letters", both("x=", "a", ";", "echo ${x^^};")),
        ("lengths", both("x=", "a", ";", "echo ${#x};")),
        ("a file read", both("echo ", "a", ">f;", "read x<f;")),
        ("a file onto itself", both("echo ", "a", ">f;", "tee f<f;")),
        ("a long body", both("while read l;do ", "ls;", "done<<E\n", "ls\n")),
        ("deep loops", "for i in a b;do ".repeat(50) + &filled("b;", size) + &"done;".repeat(50)),
        ("deep branches", "if a;then ".repeat(60) + &filled("b;", size) + &"fi;".repeat(60)),
        (
            "functions of functions",
            (0..size / 24)
                .fold(String::new(), |text, at| format!("{text}f{at}(){{ f{0};f{0};}};", at + 1))
                + "f0",
        ),
    ]
}

/// Slots of an array, each far behind the one before it.
fn grown_slots(size: usize) -> String {
    (1..size / 12).fold(String::new(), |text, step| text + &format!("a[{}]=x;", step * 4095))
}
