//! What a program needs that does not say so: measured, by what its tasks take while they rest.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use contract::message::{Description, Need, Needs};
use observe::memory;
use record::Setting;

use crate::measure::session::Session;
use crate::system::program::Program;

/// Number of tasks where one or two tell too little.
pub(crate) const MANY: u64 = 40;

/// Further tasks that tell what each one takes: threads take more, and of descriptors there are few.
const MORE: [u64; 2] = [300, 2000];

/// Further tasks that a program with these needs may have.
pub(crate) fn more(needs: &Needs) -> u64 {
    MORE[usize::from(needs.threads.each.max(needs.descriptors.each) == 0)]
}

/// Time that a program may take to build so many tasks.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a program has while its tasks rest. Descriptors and maps are those of the process that has most.
pub(crate) struct Held {
    tasks: u64,
    pub(crate) descriptors: u64,
    /// Besides the first one, which is in no program's needs.
    pub(crate) threads: u64,
    pub(crate) maps: u64,
    pub(crate) resident: Option<u64>,
    /// Kernel stacks and page tables of the whole system, in bytes: the part of the kernel's memory that other programs
    /// change least.
    kernel: u64,
    space: Option<u64>,
}

impl Held {
    /// Has the tasks of a program that is ready rest, and looks at each process.
    pub(crate) fn of(session: &mut Session, tasks: u64) -> anyhow::Result<Self> {
        session.run(1, None)?;
        let pids = session.hold()?;
        let sizes = memory::of_processes(&pids);
        let kernel = [sizes.system_kernel_stacks, sizes.system_page_tables];
        let mut held = Held {
            tasks,
            descriptors: 0,
            threads: 0,
            maps: 0,
            resident: sizes.resident,
            kernel: kernel.into_iter().flatten().sum(),
            space: sizes.peak_virtual,
        };
        for &pid in &pids {
            held.descriptors = held.descriptors.max(count(pid, "fd")?);
            held.threads += count(pid, "task")?;
            let maps = fs::read_to_string(format!("/proc/{pid}/maps"));
            let maps = maps.with_context(|| format!("{pid} is gone"))?;
            held.maps = held.maps.max(maps.lines().count() as u64);
        }
        held.threads = held.threads.saturating_sub(1);
        Ok(held)
    }

    /// Needs by what it has, and what fewer tasks have.
    fn needs_beyond(&self, few: &Held) -> Needs {
        let tasks = [few.tasks, self.tasks];
        let user = need(tasks, [few, self].map(|held| held.resident.unwrap_or(0)));
        let kernel = need(tasks, [few.kernel, self.kernel]);
        let space = need(tasks, [few, self].map(|held| held.space.unwrap_or(0)));
        Needs {
            descriptors: need(tasks, [few.descriptors, self.descriptors]),
            threads: need(tasks, [few.threads, self.threads]),
            maps: need(tasks, [few.maps, self.maps]),
            bytes: Need::new(user.fixed, user.each + kernel.each),
            space: Need::new(
                space.fixed.saturating_sub(user.fixed),
                space.each.saturating_sub(user.each),
            ),
        }
    }
}

/// The need of a resource, by what few and many tasks take of it.
fn need(tasks: [u64; 2], taken: [u64; 2]) -> Need {
    let ([few, many], [by_few, by_many]) = (tasks, taken);
    let more = many - few;
    // What an allocator or a collector takes now and then is no task's.
    let each = (by_many.saturating_sub(by_few) + more / 2) / more;
    Need::new(by_few.saturating_sub(each * few), each)
}

/// Needs of a program that has described itself, or why they are unknown.
pub(crate) fn of(
    program: &Program,
    flags: &[String],
    description: &Description,
) -> Result<Needs, String> {
    if description.needs == Needs::default() {
        return measured(program, flags, &Setting::default())
            .map_err(|why| format!("what it needs cannot be measured: {why}"));
    }
    Ok(description.needs)
}

/// What a program needs with these flags, whatever number of tasks they name. It is measured once, for all settings.
///
/// # Errors
/// Why so few tasks cannot be held.
pub(crate) fn measured(
    program: &Program,
    flags: &[String],
    setting: &Setting,
) -> Result<Needs, String> {
    static MEASURED: Mutex<BTreeMap<String, Result<Needs, String>>> = Mutex::new(BTreeMap::new());
    let flags = without_tasks(flags);
    let mut known = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    let needs = known
        .entry(format!("{program:?} {flags:?}"))
        .or_insert_with(|| measure(program, &flags, setting).map_err(|e| format!("{e:#}")));
    needs.clone()
}

fn measure(program: &Program, flags: &[String], setting: &Setting) -> anyhow::Result<Needs> {
    let few = hold(program, flags, setting, MANY)?;
    let needs = match hold(program, flags, setting, MANY + MORE[0]) {
        Ok(many) => many.needs_beyond(&few),
        // A limit may be as low as that.
        Err(_) => return Ok(few.needs_beyond(&hold(program, flags, setting, 1)?)),
    };
    let more = more(&needs);
    let many = (more > MORE[0]).then(|| hold(program, flags, setting, MANY + more));
    Ok(many.and_then(Result::ok).map_or(needs, |many| many.needs_beyond(&few)))
}

fn hold(
    program: &Program,
    flags: &[String],
    setting: &Setting,
    tasks: u64,
) -> anyhow::Result<Held> {
    let size = ["--tasks".to_owned(), tasks.to_string()];
    let controlled = ["--warmup".to_owned(), "0".to_owned(), "--controlled".to_owned()];
    let args = [flags, &size, &controlled].concat();
    let mut session = Session::start(program, &args, setting, PATIENCE)?;
    session.ready(None)?;
    Held::of(&mut session, tasks)
}

/// Flags without the number of tasks.
fn without_tasks(flags: &[String]) -> Vec<String> {
    let mut left = Vec::new();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        if flag == "--tasks" {
            flags.next();
        } else if !flag.starts_with("--tasks=") {
            left.push(flag.clone());
        }
    }
    left
}

/// Number of entries of a process's folder in /proc.
fn count(pid: i32, folder: &str) -> anyhow::Result<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/{folder}"));
    Ok(entries.with_context(|| format!("{pid} is gone"))?.count() as u64)
}
