//! Control groups of both versions.

use super::*;

const V1_MOUNTS: &str = "\
36 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:5 - cgroup cgroup rw,memory\n\
40 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n";

const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

#[test]
fn version_1_groups_are_nested() {
    let pids = "sys/fs/cgroup/pids/outer";
    let memory = "sys/fs/cgroup/memory/box";
    let tree = Tree::plain()
        .file("proc/self/mountinfo", V1_MOUNTS)
        .file(
            "proc/self/cgroup",
            "9:name=systemd:/x\n8:pids:/outer/inner\n4:cpu,memory:/box\n",
        )
        .file(&format!("{pids}/pids.max"), "500\n")
        .file(&format!("{pids}/pids.current"), "100\n")
        .file(&format!("{pids}/inner/pids.max"), "max\n")
        .file(&format!("{pids}/inner/pids.current"), "90\n")
        .file(&format!("{memory}/memory.limit_in_bytes"), "1073741824\n")
        .file(&format!("{memory}/memory.usage_in_bytes"), "536870912\n")
        .file(
            &format!("{memory}/memory.stat"),
            "inactive_file 1\ntotal_inactive_file 268435456\n",
        )
        .file(
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        )
        .file("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
    let limits = tree.limits();
    assert_eq!(
        seen(&limits, Resource::Threads)[3..],
        [("pids.max", "/sys/fs/cgroup/pids/outer/pids.max", 500, 100)]
    );
    assert_eq!(
        seen(&limits, Resource::Memory)[1..],
        [(
            "memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/box/memory.limit_in_bytes",
            1 << 30,
            256 << 20
        )]
    );
    assert_eq!(
        remedies(&limits, &threads(), 1000),
        ["echo 1152 | sudo tee /sys/fs/cgroup/pids/outer/pids.max"]
    );
}

#[test]
fn version_2_groups_are_nested() {
    let group = "sys/fs/cgroup/user.slice/user-1000.slice";
    let tree = Tree::plain()
        .file("proc/self/mountinfo", V2_MOUNT)
        .file(
            "proc/self/cgroup",
            "0::/user.slice/user-1000.slice/a b.scope\n",
        )
        .file(&format!("{group}/pids.max"), "2000\n")
        .file(&format!("{group}/pids.current"), "50\n")
        .file(&format!("{group}/memory.max"), "max\n")
        .file(&format!("{group}/memory.current"), "5\n")
        .file(&format!("{group}/a b.scope/pids.max"), "1000\n")
        .file(&format!("{group}/a b.scope/pids.current"), "10\n")
        .file(&format!("{group}/a b.scope/memory.max"), "104857600\n")
        .file(&format!("{group}/a b.scope/memory.high"), "52428800\n")
        .file(&format!("{group}/a b.scope/memory.current"), "20971520\n")
        .file(
            &format!("{group}/a b.scope/memory.stat"),
            "anon 1\ninactive_anon 7\ninactive_file 10485760\n",
        );
    let limits = tree.limits();
    let base = "/sys/fs/cgroup/user.slice/user-1000.slice";
    let inner = format!("{base}/a b.scope");
    assert_eq!(
        seen(&limits, Resource::Threads)[3..],
        [
            ("pids.max", &*format!("{inner}/pids.max"), 1000, 10),
            ("pids.max", &*format!("{base}/pids.max"), 2000, 50),
        ]
    );
    assert_eq!(
        seen(&limits, Resource::Memory)[1..],
        [
            (
                "memory.max",
                &*format!("{inner}/memory.max"),
                100 << 20,
                10 << 20
            ),
            (
                "memory.high",
                &*format!("{inner}/memory.high"),
                50 << 20,
                10 << 20
            ),
        ]
    );
    let commands = remedies(&limits, &threads(), 1500);
    assert_eq!(
        commands[0],
        format!("echo 1664 | sudo tee '{inner}/pids.max'")
    );
}

#[test]
fn a_hybrid_system_has_both_versions() {
    let mounts =
        format!("{V1_MOUNTS}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let tree = Tree::plain()
        .file("proc/self/mountinfo", &mounts)
        .file("proc/self/cgroup", "8:pids:/\n4:memory:/\n0::/svc\n")
        .file("sys/fs/cgroup/unified/svc/pids.max", "300\n")
        .file("sys/fs/cgroup/unified/svc/pids.current", "3\n")
        .file("sys/fs/cgroup/pids/pids.max", "400\n")
        .file("sys/fs/cgroup/pids/pids.current", "4\n");
    assert_eq!(
        seen(&tree.limits(), Resource::Threads)[3..],
        [
            ("pids.max", "/sys/fs/cgroup/pids/pids.max", 400, 4),
            ("pids.max", "/sys/fs/cgroup/unified/svc/pids.max", 300, 3),
        ]
    );
}

#[test]
fn in_a_container_the_path_may_lie_outside_the_mount() {
    let group = |mounted: &str, path: &str| {
        let tree = Tree::plain()
            .file(
                "proc/self/mountinfo",
                &format!("40 31 0:36 {mounted} /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"),
            )
            .file("proc/self/cgroup", &format!("8:pids:{path}\n"))
            .file("sys/fs/cgroup/pids/pids.max", "100\n")
            .file("sys/fs/cgroup/pids/pids.current", "1\n")
            .file("sys/fs/cgroup/pids/in/pids.max", "50\n")
            .file("sys/fs/cgroup/pids/in/pids.current", "1\n");
        let limits = tree.limits();
        let exceeded = limits.check(&threads(), 1000).unwrap_err();
        let note = exceeded.shortages[0].note.unwrap_or_default();
        assert!(note.contains("mounted read-only"), "{note}");
        let seen = seen(&limits, Resource::Threads);
        seen[3..].iter().map(|limit| limit.2).collect::<Vec<_>>()
    };
    assert_eq!(group("/docker/abc", "/docker/abc"), [100]);
    assert_eq!(group("/docker/abc", "/docker/abc/in"), [50, 100]);
    assert_eq!(group("/docker/abc", "/"), [100]);
    assert_eq!(group("/docker/abc", "/docker/other"), [100]);
    assert_eq!(group("/", "/../../system.slice"), [100]);
    assert_eq!(group("/..", "/"), [100]);
}

#[test]
fn the_mount_that_shows_most_ancestors_is_taken() {
    let mounts = "\
        1 2 0:36 /a/b /mnt/part rw - cgroup2 cgroup2 rw\n\
        3 2 0:36 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::plain()
        .file("proc/self/mountinfo", mounts)
        .file("proc/self/cgroup", "0::/a/b\n")
        .file("sys/fs/cgroup/a/pids.max", "70\n")
        .file("sys/fs/cgroup/a/pids.current", "1\n");
    assert_eq!(
        seen(&tree.limits(), Resource::Threads)[3..],
        [("pids.max", "/sys/fs/cgroup/a/pids.max", 70, 1)]
    );
}
