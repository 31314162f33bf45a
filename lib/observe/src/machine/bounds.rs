//! Memory and resources that a control group or the kernel grants the runner.

use record::machine::{Bound, Rlimit, Rlimits};

use crate::cgroup::ControlGroups;
use crate::source::{Source, rlimit};

/// Resource limits of this process.
pub(super) fn rlimits(source: &Source) -> Rlimits {
    let limits = source.text("/proc/self/limits").unwrap_or_default();
    let limit = |name| {
        let (soft, hard) = rlimit(&limits, name)?;
        Some(Rlimit { soft: Bound::from(soft), hard: Bound::from(hard) })
    };
    Rlimits {
        nofile: limit("Max open files"),
        nproc: limit("Max processes"),
        stack: limit("Max stack size"),
        address_space: limit("Max address space"),
    }
}

/// Lowest memory limit of the process's group and its ancestors. A group without the file has no limit.
pub(super) fn memory_limit(source: &Source, groups: &ControlGroups) -> Option<Bound> {
    let groups = groups.own(source, "memory")?;
    let file = if groups.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
    let limits =
        groups.folders.iter().filter_map(|folder| source.number(&format!("{folder}/{file}")).ok());
    Some(Bound::from(limits.min().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Root;
    use crate::machine::read_under;
    use record::machine::Machine;

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
            (format!("{version_2}4096"), "4096"),
            (format!("{version_2}max"), r#""unlimited""#),
            (format!("{version_1}4096"), "4096"),
            (format!("{version_1}9223372036854771712"), r#""unlimited""#),
        ] {
            let machine = read_under(Root::new(&format!("{limits}{group}")).path());
            let json = serde_json::to_string(&machine).unwrap();
            let expected = format!(
                r#""memory_limit":{memory},"rlimits":{{"nofile":{{"soft":1024,"hard":20000}},"#
            ) + r#""nproc":null,"stack":{"soft":8388608,"hard":"unlimited"},"address_space":null}"#;
            assert!(json.contains(&expected), "{json}");
            assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
            // They belong to a run and are not compared.
            let (memory_limit, rlimits) = (Some(Bound::At(1)), Rlimits::default());
            let other = Machine { memory_limit, rlimits, ..machine.clone() };
            assert!(machine.same_machine(&other).is_empty());
        }
    }
}
