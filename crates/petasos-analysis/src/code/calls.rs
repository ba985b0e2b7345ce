//! What known functions of many languages do, by name.

use super::verbs;
use crate::table::Table;
use crate::words::{begins, lists};
use std::sync::LazyLock;

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
    /// Unpacks an archive into a directory.
    Unpack,
    /// Runs its argument as code of the same language.
    Evaluate,
    /// Runs the file that its argument names.
    Load,
    Query,
    /// Empties or drops what holds data.
    Destroy,
    /// Makes its first argument the current directory.
    Enter,
    Kill,
    Mode,
    Power,
}

/// Functions by name, whatever they are called on.
const ROWS: &[(Action, &str)] = &[
    (
        Action::Command,
        "system system2 popen getoutput getstatusoutput shell_exec passthru proc_open execSync popen2 popen3 \
         popen4 capture2 capture2e capture3 pipeline execaCommand execaCommandSync execute_command \
         create_subprocess_shell shellescape",
    ),
    (
        Action::Program,
        "check_output check_call Popen spawnSync execFile execFileSync spawn execa execaSync \
         create_subprocess_exec Command posix_spawn pty.spawn run call",
    ),
    (
        Action::Replace,
        "execvp execv execve execvpe execl execlp execle spawnl spawnlp spawnv spawnvp pcntl_exec \
         posix_spawnp",
    ),
    (
        Action::DeleteTree,
        "rmtree remove_tree rm_rf rm_r remove_dir remove_entry_secure remove_entry rimraf rimrafSync \
         removeSync emptyDirSync emptyDir remove_dir_all RemoveAll deltree rmrf secure_rmtree deleteSync \
         deleteDirectory deleteRecursively deleteTree removeDir dir_delete pathrmdir rmdirRecurse \
         removeDirectoryRecursive removePathForcibly deleteDir delete_dir_all rmdir_all rmtree_all \
         forceDelete cleanDirectory fremove trashItem emptydir emptydirSync pathempty rmr \
         unlink_recursive deleteAll send2trash moveToTrash",
    ),
    (Action::DeleteMaybeTree, "rmSync rmdirSync rm rmdir"),
    (Action::Open, "open fopen openSync File sysopen"),
    (
        Action::Write,
        "write_text write_bytes writeFileSync writeFile appendFileSync appendFile createWriteStream \
         truncateSync truncate file_put_contents binwrite outputFileSync writeTextFile \
         writeTextFileSync touch mknod writeJsonSync",
    ),
    (
        Action::WriteSecond,
        "copyFileSync cpSync copyFile copy copy2 copyfile copytree symlink symlinkSync linkSync cp_r copySync \
         ln_s ln_sf urlretrieve writefile",
    ),
    (Action::Move, "rename renameSync renames moveSync mv move"),
    (
        Action::Read,
        "readFileSync readFile read_text read_bytes file_get_contents createReadStream readTextFile \
         readTextFileSync readlines slurp readfile",
    ),
    (
        Action::Evaluate,
        "eval instance_eval class_eval Function runInNewContext runInThisContext create_function \
         compile loadstring assert runsource runcode timeit runctx",
    ),
    (Action::Load, "dofile run_path execfile load_source require_relative"),
    (Action::Unpack, "extractall unpack_archive extract_all extractTo extractAllTo"),
    (
        Action::Query,
        "query executescript executemany raw do multi_query $executeRawUnsafe $queryRawUnsafe \
         dropDatabase dropAllTables",
    ),
    (Action::Enter, "chdir"),
    (Action::Kill, "kill killpg posix_kill"),
    (Action::Mode, "chmod chmodSync lchmod chmod_R umask"),
    (Action::Power, "reboot Reboot PowerOff"),
];

static BY_NAME: LazyLock<Table<Action>> = LazyLock::new(|| {
    let names = |row: &(Action, &'static str)| {
        let action = row.0;
        row.1.split_ascii_whitespace().map(move |name| (name, action))
    };
    ROWS.iter().flat_map(names).collect()
});

/// What calling `name` does. `name` has its module or receiver.
pub(crate) fn action(name: &str) -> Option<Action> {
    let last = name.rsplit(['.', ':', '>']).next().unwrap_or_default();
    let owner = name.strip_suffix(last).unwrap_or_default().trim_end_matches(['.', ':', '-', '>']);
    let owner = owner.rsplit(['.', ':']).next().unwrap_or_default();
    on_owner(name, owner, last)
        .or_else(|| BY_NAME.get(last).copied())
        .or_else(|| verbs::action(owner, last))
}

/// Functions whose owner says what they do.
fn on_owner(name: &str, owner: &str, last: &str) -> Option<Action> {
    Some(match last {
        "shell" if name == "shell" => Action::Command,
        "new" if matches!(owner, "Command" | "ProcessBuilder" | "Process") => Action::Program,
        "exec" if matches!(name, "exec" | "builtins.exec") => Action::Evaluate,
        "exec" if owner.is_empty() || lists("child_process cp Kernel shell os process", owner) => {
            Action::Command
        }
        "execute" | "cmd" if owner == "os" => Action::Command,
        "input" if owner == "fileinput" => Action::Open,
        "execute" => Action::Query,
        "removeItem" if lists("default fileManager fm FileManager", owner) => Action::DeleteTree,
        "sync" | "manual" if matches!(owner, "rimraf" | "del" | "trash") => Action::DeleteTree,
        "unlink" | "unlinkSync" | "remove" | "rm_f" | "safe_unlink" | "delete" | "Delete"
            if deletes_files(owner, last) =>
        {
            Action::Delete
        }
        "write" if matches!(owner, "File" | "IO" | "Bun" | "Deno") => Action::Write,
        "cp" | "link" if !owner.is_empty() => Action::WriteSecond,
        "replace" if matches!(owner, "shutil" | "os" | "FileUtils") => Action::Move,
        "read" if matches!(owner, "File" | "IO") => Action::Read,
        _ => return None,
    })
}

fn deletes_files(owner: &str, last: &str) -> bool {
    match last {
        "remove" => lists("os fs fsExtra Deno FileUtils path p f file", owner),
        "delete" | "Delete" => owner.is_empty() || lists("File Pathname Path Files file", owner),
        _ => true,
    }
}

/// Functions that list directories; with a delete beside them, a sweep.
pub(crate) fn lists_files(name: &str) -> bool {
    lists(
        "walk glob iglob rglob scandir listdir iterdir readdir readdirSync find finddepth children \
         each_child entries globSync RecursiveDirectoryIterator list_files",
        name.rsplit(['.', ':']).next().unwrap_or_default(),
    )
}

/// Names that open a connection to another machine.
pub(crate) fn reaches_network(name: &str) -> bool {
    lists(
        "urlopen connect fetch fsockopen TCPSocket create_connection createConnection urlretrieve \
         HTTPSConnection HTTPConnection LWP curl_init pfsockopen stream_socket_client Socket axios got \
         URI INET",
        name.rsplit(['.', ':']).next().unwrap_or_default(),
    ) || begins(
        "requests. urllib httpx. http. https. net. TCPSocket UDPSocket Net::HTTP LWP IO::Socket HTTP::",
        name,
    )
}

/// Whether a module or package speaks to a cloud or a cluster.
pub(crate) fn is_cloud_library(name: &str) -> bool {
    let first = name.split(['.', ':']).next().unwrap_or_default();
    lists(
        "boto3 botocore aioboto3 Aws kubernetes azure pulumi github gitlab digitalocean hcloud stripe \
        cloudflare elasticsearch opensearchpy openstack libcloud linode_api4 octokit firebase_admin",
        first,
    ) || begins(
        "google.cloud @octokit/ @aws-sdk/ aws-sdk @google-cloud/ @azure/ @kubernetes/",
        name,
    )
}

/// Whether a method of such a library takes something away for good.
pub(crate) fn takes_away(method: &str) -> bool {
    verbs::words(method).iter().take(2).any(|word| lists("delete terminate destroy purge", word))
}
