//! The maker of a control group, known by its path: its limits are set for good there.

/// Setting that gives the limit in `file` this value for good; `None` lifts it.
pub(super) fn setting(file: &str, value: Option<u64>, sudo: &str) -> String {
    let (group, name) = file.rsplit_once('/').unwrap_or(("", file));
    let unit = group.rsplit('/').next().unwrap_or_default();
    let is_pids = name == "pids.max";
    let number = value.map(|value| value.to_string());
    let minus_one = number.as_deref().unwrap_or("-1");
    let parts = || group.split(['/', '-', '_', '.', ':']);
    if parts().any(|part| part.starts_with("kubepods") || part.starts_with("kubelet")) {
        return match (is_pids, &number) {
            (true, _) => format!("podPidsLimit: {minus_one} in the kubelet's configuration"),
            (false, Some(bytes)) => {
                format!("resources.limits.memory: \"{bytes}\" in the pod's manifest")
            }
            (false, None) => "no resources.limits.memory in the pod's manifest".to_owned(),
        };
    }
    // In a namespace of its own a container sees its group as the top of the hierarchy.
    let tops = ["", "/pids", "/memory"];
    let is_top = group.strip_prefix("/sys/fs/cgroup").is_some_and(|rest| tops.contains(&rest));
    if is_top || parts().any(|part| ["docker", "libpod", "lxc", "containerd"].contains(&part)) {
        let (option, pod) = match is_pids {
            true => ("--pids-limit", "podPidsLimit"),
            false => ("--memory", "resources.limits.memory"),
        };
        return format!("start the container with {option} {minus_one} ({pod} in Kubernetes)");
    }
    let is_unit = |end: &&str| unit.ends_with(*end);
    if [".slice", ".service", ".scope"].iter().any(is_unit) {
        let property = match name {
            "pids.max" => "TasksMax",
            "memory.high" => "MemoryHigh",
            _ => "MemoryMax",
        };
        let value = number.as_deref().unwrap_or("infinity");
        return format!("{sudo}systemctl set-property {unit} {property}={value}");
    }
    format!("set it where {group} is made")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maker_shows_in_the_path() {
        let setting = |file: &str, value| setting(file, value, "sudo ");
        let slice = "/sys/fs/cgroup/user.slice/user-1000.slice";
        assert_eq!(
            setting(&format!("{slice}/pids.max"), Some(5000)),
            "sudo systemctl set-property user-1000.slice TasksMax=5000"
        );
        assert_eq!(
            setting(&format!("{slice}/memory.high"), None),
            "sudo systemctl set-property user-1000.slice MemoryHigh=infinity"
        );
        let docker = "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes";
        assert!(setting(docker, Some(7)).contains("--memory 7"));
        let pod = "/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope";
        assert!(setting(&format!("{pod}/pids.max"), Some(9)).starts_with("podPidsLimit: 9"));
        assert!(setting("/sys/fs/cgroup/pids.max", Some(9)).contains("--pids-limit 9"));
        assert_eq!(
            setting("/sys/fs/cgroup/pids/mine/pids.max", Some(9)),
            "set it where /sys/fs/cgroup/pids/mine is made"
        );
    }
}
