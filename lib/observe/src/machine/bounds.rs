//! Memory and resources that a control group or the kernel grants the runner.

use serde_json::{Map, Value};

use crate::cgroup::ControlGroups;
use crate::source::{Source, rlimit};

/// A limit as records hold it. For *no limit* the kernel writes the largest number; version 1 of control groups writes
/// `LONG_MAX` rounded down to a page.
fn bound(number: u64) -> Value {
    if number < 1 << 62 { number.into() } else { "unlimited".into() }
}

/// Resource limits of this process that bound the number of tasks, soft and hard.
pub(super) fn rlimits(source: &Source) -> Value {
    let limits = source.text("/proc/self/limits").unwrap_or_default();
    let names = [
        ("nofile", "Max open files"),
        ("nproc", "Max processes"),
        ("stack", "Max stack size"),
        ("address_space", "Max address space"),
    ];
    let known = names.into_iter().filter_map(|(name, words)| {
        let (soft, hard) = rlimit(&limits, words)?;
        let both = [("soft", soft), ("hard", hard)];
        let both: Map<String, Value> =
            both.into_iter().map(|(name, limit)| (name.to_owned(), bound(limit))).collect();
        Some((name.to_owned(), both.into()))
    });
    Value::Object(known.collect())
}

/// Lowest memory limit of the process's group and its ancestors, in bytes. A group without the file has no limit.
pub(super) fn memory_limit(source: &Source, groups: &ControlGroups) -> Option<Value> {
    let groups = groups.own(source, "memory")?;
    let file = if groups.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
    let limits =
        groups.folders.iter().filter_map(|folder| source.number(&format!("{folder}/{file}")).ok());
    Some(bound(limits.min().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use crate::fixtures::Root;
    use crate::machine::read_under;
    use record::machine::Machine;
    use serde_json::json;

    #[test]
    fn limits_are_numbers_or_a_word() {
        let limits = "\
/proc/self/limits: Max stack size            8388608              unlimited            bytes
/proc/self/limits: Max open files            1024                 20000                files
";
        let version_1 = "\
/proc/self/cgroup: 4:memory:/a
/proc/self/mountinfo: 31 23 0:28 / /g rw - cgroup cgroup rw,memory
/g/memory.limit_in_bytes: 9223372036854771712
/g/a/memory.limit_in_bytes: ";
        let version_2 = "\
/proc/self/cgroup: 0::/a/b
/proc/self/mountinfo: 31 23 0:28 / /g rw - cgroup2 cgroup2 rw
/g/a/b/memory.max: max
/g/a/memory.max: ";
        for (group, memory) in [
            (format!("{version_2}4096"), json!(4096)),
            (format!("{version_2}max"), json!("unlimited")),
            (format!("{version_1}4096"), json!(4096)),
            (format!("{version_1}9223372036854771712"), json!("unlimited")),
        ] {
            let machine = read_under(Root::new(&format!("{limits}{group}")).path());
            let rlimits = json!({
                "nofile": {"soft": 1024, "hard": 20000}, "stack": {"soft": 8_388_608, "hard": "unlimited"},
            });
            let found = ["memory_limit", "rlimits"].map(|name| machine.get(name));
            assert_eq!(found, [Some(&memory), Some(&rlimits)]);
            // They belong to a run and are not compared.
            let mut other = Machine::clone(&machine);
            other.set("memory_limit", 1);
            assert!(machine.same_machine(&other).is_empty());
        }
    }
}
