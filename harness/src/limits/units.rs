//! Who made a control group, by its path: that is where its limits are set for good.

/// Who made a control group, and what to tell them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// systemd: a unit, its property and the value.
    Systemd(String),
    /// Docker, Podman and their like; or Kubernetes, which does not always show.
    Container(String),
    /// Kubernetes.
    Pod(String),
    /// Nobody that is known: the group is made by hand.
    Unknown(String),
}

/// Who made the group that a file of limits is in, and what sets the limit to `value` (`None`:
/// lifts it) for good.
pub(super) fn unit_of(file: &str, value: Option<u64>) -> Maker {
    let (group, name) = file.rsplit_once('/').unwrap_or(("", file));
    let last = group.rsplit('/').next().unwrap_or_default();
    let pids = name == "pids.max";
    let number = value.map(|value| value.to_string());
    let parts = || group.split(['/', '-', '_', '.', ':']);
    if parts().any(|part| part.starts_with("kubepods") || part.starts_with("kubelet")) {
        return Maker::Pod(match pids {
            true => format!(
                "podPidsLimit: {} in the kubelet's configuration",
                number.as_deref().unwrap_or("-1")
            ),
            false => match number {
                Some(bytes) => {
                    format!("resources.limits.memory: \"{bytes}\" in the pod's manifest")
                }
                None => "no resources.limits.memory in the pod's manifest".to_owned(),
            },
        });
    }
    let is_container = |part: &str| ["docker", "libpod", "lxc", "containerd"].contains(&part);
    // In a cgroup namespace a container sees its own group as the top of the hierarchy.
    let is_top = [
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/pids",
        "/sys/fs/cgroup/memory",
    ]
    .contains(&group);
    if is_top || parts().any(is_container) {
        let (option, pod) = match pids {
            true => ("--pids-limit", "podPidsLimit"),
            false => ("--memory", "resources.limits.memory"),
        };
        let value = number.as_deref().unwrap_or("-1");
        return Maker::Container(format!("{option} {value}\n({pod} in Kubernetes)"));
    }
    if [".slice", ".service", ".scope"]
        .iter()
        .any(|end| last.ends_with(end))
    {
        let property = match name {
            "pids.max" => "TasksMax",
            "memory.high" => "MemoryHigh",
            _ => "MemoryMax",
        };
        let value = number.as_deref().unwrap_or("infinity");
        return Maker::Systemd(format!("{last} {property}={value}"));
    }
    Maker::Unknown(group.to_owned())
}

impl Maker {
    /// What makes the new value last.
    pub(super) fn advice(&self, sudo: &str) -> String {
        match self {
            Maker::Systemd(setting) => format!("{sudo}systemctl set-property {setting}"),
            Maker::Container(option) => format!("start the container with {option}"),
            Maker::Pod(setting) => setting.clone(),
            Maker::Unknown(group) => format!("set it where {group} is made"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_made_a_group_shows_in_its_path() {
        let advice = |file: &str, value| unit_of(file, value).advice("sudo ");
        let slice = "/sys/fs/cgroup/user.slice/user-1000.slice";
        assert_eq!(
            advice(&format!("{slice}/pids.max"), Some(5000)),
            "sudo systemctl set-property user-1000.slice TasksMax=5000"
        );
        assert_eq!(
            advice(&format!("{slice}/memory.high"), None),
            "sudo systemctl set-property user-1000.slice MemoryHigh=infinity"
        );
        let docker = "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes";
        assert!(advice(docker, Some(7)).contains("--memory 7"));
        let pod = "/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope";
        assert!(advice(&format!("{pod}/pids.max"), Some(9)).starts_with("podPidsLimit: 9"));
        assert!(advice("/sys/fs/cgroup/pids.max", Some(9)).contains("--pids-limit 9"));
        assert_eq!(
            advice("/sys/fs/cgroup/pids/mine/pids.max", Some(9)),
            "set it where /sys/fs/cgroup/pids/mine is made"
        );
    }
}
