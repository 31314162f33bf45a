//! What binds everyone but root: the number of a user's processes, and the pages of their pipes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use harness::notes::Note;
use nix::unistd::Uid;
use tempfile::TempDir;

use crate::support::benchmarks::all;
use crate::support::process::Run;
use crate::support::{is_installed, skip};

/// A user without a name and without other processes.
pub(crate) struct Nobody(u32);

impl Nobody {
    /// # Errors
    /// Why nobody can be become here.
    pub(crate) fn new() -> Result<Self, String> {
        if !Uid::effective().is_root() {
            return Err("only root can become a user who has no other processes".to_owned());
        }
        if !is_installed("setpriv") || !is_installed("prlimit") {
            return Err("no setpriv or no prlimit".to_owned());
        }
        // Tests run side by side: each is a user of its own, whose limits are its own too.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let nobody = Nobody(200_000_000 + std::process::id() * 16 + count);
        let folder = copy_for_nobody(all().first().map(|benchmark| &*benchmark.path));
        let program = folder.path().join(&all()[0].name);
        match nobody.run(&program, "--version").finish().code {
            0 => Ok(nobody),
            _ => Err("another user cannot run a copy of the programs".to_owned()),
        }
    }

    /// A run of a program by that user.
    pub(crate) fn run(&self, program: &Path, flags: &str) -> Run {
        self.run_within("", program, flags)
    }

    /// The same with limits, as prlimit takes them.
    fn run_within(&self, limits: &str, program: &Path, flags: &str) -> Run {
        let run = Run::of("prlimit").flags(limits);
        let run = run.flags("setpriv --clear-groups --no-new-privs");
        let ids = format!("--reuid={0} --regid={0}", self.0);
        run.flags(&ids).arg(program).flags(flags)
    }
}

/// Copies of programs: where root has built them, a user may not be able to reach them.
pub(crate) fn copy_for_nobody<'a>(programs: impl IntoIterator<Item = &'a Path>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for program in programs {
        fs::copy(program, folder.path().join(program.file_name().unwrap())).unwrap();
    }
    folder
}

#[test]
fn too_few_processes_for_a_user_are_told() {
    let nobody = match Nobody::new() {
        Ok(nobody) => nobody,
        Err(why) => return skip(&why),
    };
    let folder = copy_for_nobody(all().iter().map(|benchmark| &*benchmark.path));
    for benchmark in all() {
        let program = folder.path().join(&benchmark.name);
        let flags = "--tasks 50 --iters 2 --warmups 0";
        let run = nobody.run_within("--nproc=20:20", &program, flags).finish();
        match run.code {
            0 => assert!(!benchmark.has_threads(), "50 threads of 20: {run}"),
            _ => {
                let words = ["user processes", "ulimit -u", "allows 20", "--tasks"];
                run.expect_refusal(1, &words);
            }
        }
    }
}

/// Past the soft limit of pages new pipes are smaller: nothing fails, and the record says so.
#[test]
fn small_pipes_are_noted() {
    let pages = fs::read_to_string("/proc/sys/fs/pipe-user-pages-soft");
    let pages: u64 = match pages.ok().and_then(|text| text.trim().parse().ok()) {
        Some(pages @ 1..=48_000) => pages,
        _ => return skip("fs.pipe-user-pages-soft is not set, or too high for this test"),
    };
    let nobody = match Nobody::new() {
        Ok(nobody) => nobody,
        Err(why) => return skip(&why),
    };
    let full = pages / 16;
    let tasks = full + 100;
    let over_pipes = || all().iter().filter(|benchmark| benchmark.has_descriptors());
    let folder = copy_for_nobody(over_pipes().map(|benchmark| &*benchmark.path));
    for benchmark in over_pipes() {
        let program = folder.path().join(&benchmark.name);
        let run = |transport| {
            let flags = format!("--tasks {tasks} --iters 2 --warmups 0 --transport {transport}");
            nobody.run(&program, &flags)
        };
        let json = run("pipe").flags("--format json").finish();
        if json.stderr.contains("more than this system allows") {
            return skip("the limits of this system are too low for so many pipes");
        }
        let record = json.expect(0).record();
        let note = record.notes.iter().find_map(|note| match note {
            Note::SmallPipes {
                links,
                of,
                bytes,
                usual,
            } => Some((*links, *of, bytes < usual)),
            _ => None,
        });
        assert_eq!(note, Some((101, tasks + 1, true)));
        let text = run("pipe").finish().expect(0);
        assert!(text.stdout.contains("pipes hold only"), "{text}");
        let sockets = run("socketpair")
            .flags("--format json")
            .finish()
            .expect(0)
            .record();
        let is_small = |note: &Note| matches!(note, Note::SmallPipes { .. });
        assert!(!sockets.notes.iter().any(is_small));
        // More than a small pipe holds: one thread would wait for itself.
        let large = run("pipe").flags("--bytes 16k -q").finish();
        match benchmark.has("--nonblocking") {
            true => drop(large.expect_refusal(1, &["pipes hold only", "fs.pipe-user-pages-soft"])),
            false => drop(large.expect(0)),
        }
    }
}
