//! What known functions of many languages do, by name.

use super::verbs;

/// The effect of calling a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Runs its first argument as shell text, or a list as a command.
    Command,
    /// Runs a program given as the first argument, arguments behind or in a list.
    Program,
    /// Runs a program; its arguments start at the second one.
    Replace,
    DeleteTree,
    /// Deletes a tree only when told to.
    DeleteMaybeTree,
    Delete,
    /// Opens a file; a mode decides what for.
    Open,
    Write,
    /// Second argument is written.
    WriteSecond,
    /// First is taken away, second is written.
    Move,
    Read,
    /// Runs its argument as code of the same language.
    Evaluate,
    Query,
    /// Empties or drops what holds data.
    Destroy,
    /// Makes its first argument the current directory.
    Enter,
    Kill,
    Mode,
    Power,
}

/// What calling `name` does. `name` has its module or receiver.
pub(crate) fn action(name: &str) -> Option<Action> {
    let last = name.rsplit(['.', ':', '>']).next().unwrap_or_default();
    let owner = name.strip_suffix(last).unwrap_or_default().trim_end_matches(['.', ':', '-', '>']);
    let owner = owner.rsplit(['.', ':']).next().unwrap_or_default();
    runs(name, owner, last)
        .or_else(|| deletes(owner, last))
        .or_else(|| reads_or_writes(owner, last))
        .or_else(|| affects(last))
        .or_else(|| verbs::action(owner, last))
}

/// Functions that start another program.
fn runs(name: &str, owner: &str, last: &str) -> Option<Action> {
    Some(match last {
        "system"
        | "popen"
        | "getoutput"
        | "getstatusoutput"
        | "shell_exec"
        | "passthru"
        | "proc_open"
        | "execSync"
        | "popen2"
        | "popen3"
        | "popen4"
        | "capture2"
        | "capture2e"
        | "capture3"
        | "pipeline"
        | "execaCommand"
        | "execaCommandSync"
        | "execute_command"
        | "create_subprocess_shell"
        | "shellescape" => Action::Command,
        "check_output"
        | "check_call"
        | "Popen"
        | "spawnSync"
        | "execFile"
        | "execFileSync"
        | "spawn"
        | "execa"
        | "execaSync"
        | "create_subprocess_exec"
        | "Command"
        | "posix_spawn" => Action::Program,
        "shell" if name == "shell" => Action::Command,
        "pty.spawn" => Action::Program,
        "run" | "call" => Action::Program,
        "new" if matches!(owner, "Command" | "ProcessBuilder" | "Process") => Action::Program,
        "exec" if name == "exec" => Action::Evaluate,
        "exec"
            if matches!(
                owner,
                "child_process" | "cp" | "Kernel" | "" | "shell" | "os" | "process"
            ) =>
        {
            Action::Command
        }
        "execute" | "cmd" if owner == "os" => Action::Command,
        "execvp" | "execv" | "execve" | "execvpe" | "execl" | "execlp" | "execle" | "spawnl"
        | "spawnlp" | "spawnv" | "spawnvp" | "pcntl_exec" | "posix_spawnp" => Action::Replace,
        _ => return None,
    })
}

/// Functions that take files away.
fn deletes(owner: &str, last: &str) -> Option<Action> {
    Some(match last {
        "rmtree"
        | "remove_tree"
        | "rm_rf"
        | "rm_r"
        | "remove_dir"
        | "remove_entry_secure"
        | "remove_entry"
        | "rimraf"
        | "rimrafSync"
        | "removeSync"
        | "emptyDirSync"
        | "emptyDir"
        | "remove_dir_all"
        | "RemoveAll"
        | "deltree"
        | "rmrf"
        | "secure_rmtree"
        | "deleteSync"
        | "deleteDirectory"
        | "deleteRecursively"
        | "deleteTree"
        | "removeDir"
        | "dir_delete"
        | "pathrmdir"
        | "rmdirRecurse"
        | "removeDirectoryRecursive"
        | "removePathForcibly"
        | "deleteDir"
        | "delete_dir_all"
        | "rmdir_all"
        | "rmtree_all"
        | "forceDelete"
        | "cleanDirectory"
        | "fremove"
        | "trashItem"
        | "emptydir"
        | "emptydirSync"
        | "pathempty"
        | "rmr"
        | "unlink_recursive"
        | "deleteAll" => Action::DeleteTree,
        "removeItem" if matches!(owner, "default" | "fileManager" | "fm" | "FileManager") => {
            Action::DeleteTree
        }
        "sync" | "manual" if matches!(owner, "rimraf" | "del" | "trash") => Action::DeleteTree,
        "rmSync" | "rmdirSync" | "rm" | "rmdir" => Action::DeleteMaybeTree,
        "unlink" | "unlinkSync" | "remove" | "rm_f" | "safe_unlink" | "delete"
            if deletes_files(owner, last) =>
        {
            Action::Delete
        }
        _ => return None,
    })
}

/// Functions that open, write, copy, move or read files.
fn reads_or_writes(owner: &str, last: &str) -> Option<Action> {
    Some(match last {
        "open" | "fopen" | "openSync" | "File" | "sysopen" => Action::Open,
        "write_text" | "write_bytes" | "writeFileSync" | "writeFile" | "appendFileSync"
        | "appendFile" | "createWriteStream" | "truncateSync" | "truncate"
        | "file_put_contents" | "binwrite" | "outputFileSync" | "writeTextFile"
        | "writeTextFileSync" | "touch" | "mknod" | "writeJsonSync" => Action::Write,
        "write" if matches!(owner, "File" | "IO" | "Bun" | "Deno") => Action::Write,
        "copyFileSync" | "copyFile" | "copy" | "copy2" | "copyfile" | "copytree" | "symlink"
        | "symlinkSync" | "linkSync" | "cp_r" | "copySync" | "ln_s" | "ln_sf" | "urlretrieve" => {
            Action::WriteSecond
        }
        "cp" | "link" if !owner.is_empty() => Action::WriteSecond,
        "writefile" => Action::WriteSecond,
        "rename" | "renameSync" | "renames" | "moveSync" | "mv" => Action::Move,
        "move" | "replace" if matches!(owner, "shutil" | "os" | "FileUtils") => Action::Move,
        "readFileSync" | "readFile" | "read_text" | "read_bytes" | "file_get_contents"
        | "createReadStream" | "readTextFile" | "readTextFileSync" | "readlines" | "slurp"
        | "readfile" => Action::Read,
        "read" if matches!(owner, "File" | "IO") => Action::Read,
        _ => return None,
    })
}

/// Functions that evaluate code, or reach a database, processes, modes or the machine.
fn affects(last: &str) -> Option<Action> {
    Some(match last {
        "eval" | "instance_eval" | "class_eval" | "Function" | "runInNewContext"
        | "runInThisContext" | "create_function" | "compile" | "dofile" | "loadstring"
        | "assert" => Action::Evaluate,
        "execute" | "query" | "executescript" | "executemany" | "raw" | "do" | "multi_query"
        | "$executeRawUnsafe" | "$queryRawUnsafe" | "dropDatabase" | "dropAllTables" => {
            Action::Query
        }
        "chdir" => Action::Enter,
        "kill" | "killpg" => Action::Kill,
        "chmod" | "chmodSync" | "lchmod" | "chmod_R" | "umask" => Action::Mode,
        "reboot" => Action::Power,
        _ => return None,
    })
}

fn deletes_files(owner: &str, last: &str) -> bool {
    match last {
        "remove" => {
            matches!(owner, "os" | "fs" | "fsExtra" | "Deno" | "FileUtils" | "path" | "p" | "f")
        }
        "delete" => matches!(owner, "File" | "Pathname" | "Path" | "Files"),
        _ => true,
    }
}

/// Functions that list directories; with a delete beside them, a sweep.
pub(crate) fn lists_files(name: &str) -> bool {
    matches!(
        name.rsplit(['.', ':']).next().unwrap_or_default(),
        "walk"
            | "glob"
            | "iglob"
            | "rglob"
            | "scandir"
            | "listdir"
            | "iterdir"
            | "readdir"
            | "readdirSync"
            | "find"
            | "finddepth"
            | "children"
            | "each_child"
            | "entries"
            | "globSync"
            | "RecursiveDirectoryIterator"
    )
}

/// Names that open a connection to another machine.
pub(crate) fn reaches_network(name: &str) -> bool {
    let last = name.rsplit(['.', ':']).next().unwrap_or_default();
    matches!(
        last,
        "urlopen"
            | "connect"
            | "fetch"
            | "fsockopen"
            | "TCPSocket"
            | "create_connection"
            | "createConnection"
            | "urlretrieve"
            | "HTTPSConnection"
            | "HTTPConnection"
            | "LWP"
            | "curl_init"
            | "pfsockopen"
            | "stream_socket_client"
            | "Socket"
            | "axios"
            | "got"
            | "URI"
            | "INET"
    ) || name.starts_with("requests.")
        || name.starts_with("urllib")
        || name.starts_with("httpx.")
        || name.starts_with("http.")
        || name.starts_with("https.")
        || name.starts_with("net.")
        || name.starts_with("TCPSocket")
        || name.starts_with("UDPSocket")
        || name.starts_with("Net::HTTP")
        || name.starts_with("LWP")
        || name.starts_with("IO::Socket")
        || name.starts_with("HTTP::")
}

/// Whether a module or package speaks to a cloud or a cluster.
pub(crate) fn is_cloud_library(name: &str) -> bool {
    let first = name.split(['.', ':']).next().unwrap_or_default();
    matches!(first, "boto3" | "botocore" | "aioboto3" | "Aws" | "kubernetes" | "azure" | "pulumi")
        || name.starts_with("google.cloud")
        || ["@aws-sdk/", "aws-sdk", "@google-cloud/", "@azure/", "@kubernetes/"]
            .iter()
            .any(|package| name.starts_with(package))
}

/// Whether a method of such a library takes something away for good.
pub(crate) fn takes_away(method: &str) -> bool {
    ["delete", "terminate", "destroy", "purge", "Delete", "Terminate"]
        .iter()
        .any(|verb| method.starts_with(verb))
}
