//! Control groups of this process, of version 1 and 2. A limit of any ancestor holds for all groups below it;
//! what lies above the mount point, as in a container, cannot be seen.

use std::path::Path;

use crate::source::Source;

/// Groups that a controller counts this process in.
#[derive(Debug)]
pub struct Groups {
    /// The process's own group first, then its ancestors.
    pub folders: Vec<String>,
    /// Version of control groups that the controller is in: 1 or 2.
    pub version: u8,
    /// The files cannot be written to.
    pub read_only: bool,
    /// The first folder is the process's own group. Otherwise that group is out of sight, and the
    /// only folder is the mount point, which may show a neighbour or an ancestor.
    pub is_own: bool,
}

/// Control groups of a process, and the mounts at which they can be seen.
#[derive(Debug)]
pub struct ControlGroups {
    /// Text of `/proc/PID/cgroup`, or why it cannot be read.
    memberships: Result<String, String>,
    mounts: Vec<Mount>,
}

impl ControlGroups {
    /// Reads `/proc/self/cgroup` and `/proc/self/mountinfo`.
    pub fn read(source: &Source) -> Self {
        ControlGroups::of_process(source, "self")
    }

    /// The same of another process, at the mounts of this one.
    pub fn of_process(source: &Source, process: &str) -> Self {
        let mounts = source.read("/proc/self/mountinfo").unwrap_or_default();
        ControlGroups {
            memberships: source.read(&format!("/proc/{process}/cgroup")),
            mounts: mounts.lines().filter_map(Mount::parse).collect(),
        }
    }

    /// Groups of one controller, or why they are unknown.
    pub fn groups(&self, source: &Source, controller: &str) -> Result<Groups, String> {
        let text = self.memberships.as_ref().map_err(String::clone)?;
        // Lines are `ID:CONTROLLERS:PATH`; version 2 has no controllers.
        let fields = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        // A controller is in one hierarchy at a time: if version 1 has it, version 2 does not.
        let version_1 = fields.clone().find(|(names, _)| has_word(names, controller));
        let (_, path) = version_1
            .or_else(|| fields.clone().find(|(names, _)| names.is_empty()))
            .ok_or_else(|| format!("/proc/self/cgroup names no group of {controller}"))?;
        let mounts = self.mounts.iter().filter(|mount| match version_1 {
            Some(_) => mount.kind == "cgroup" && has_word(&mount.super_options, controller),
            None => mount.kind == "cgroup2",
        });
        let mounts: Vec<&Mount> = mounts.collect();
        // Of several mounts, the one that shows most ancestors.
        let inside = mounts
            .iter()
            .filter_map(|mount| Some((mount, below(&mount.root, path)?)))
            .max_by_key(|(_, rest)| rest.len())
            .filter(|(mount, rest)| source.exists(&format!("{}/{rest}", mount.point)));
        let (mount, rest) = inside.or_else(|| Some((mounts.first()?, ""))).ok_or_else(|| {
            format!("no mount of the {controller} controller can be seen from here")
        })?;
        Ok(Groups {
            folders: mount.ancestors(rest),
            version: if version_1.is_some() { 1 } else { 2 },
            read_only: mount.is_read_only,
            is_own: inside.is_some(),
        })
    }

    /// Groups of one controller, if the process's own is in sight.
    pub fn visible_groups(&self, source: &Source, controller: &str) -> Option<Groups> {
        self.groups(source, controller).ok().filter(|groups| groups.is_own)
    }

    /// `/proc/sys` is mounted read-only, as in containers.
    pub fn sysctls_are_read_only(&self) -> bool {
        // The last mount at a point hides those before it.
        let mut points = ["/proc/sys", "/proc"].into_iter();
        let mount = points.find_map(|point| self.mounts.iter().rfind(|mount| mount.point == point));
        mount.is_some_and(|mount| mount.is_read_only)
    }
}

/// The facts about a mount that matter.
#[derive(Debug)]
struct Mount {
    /// Folder of the file system that is seen at the mount point.
    root: String,
    point: String,
    is_read_only: bool,
    kind: String,
    /// Options of the file system; in version 1 of control groups they name its controllers.
    super_options: String,
}

impl Mount {
    /// A line of mountinfo: `ID PARENT DEVICE ROOT POINT OPTIONS [TAGS] - KIND SOURCE SUPER-OPTIONS`.
    fn parse(line: &str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let (mut mount, mut system) = (mount.split(' ').skip(3), system.split(' '));
        let (root, point) = (unescaped(mount.next()?), unescaped(mount.next()?));
        Some(Mount {
            root,
            point: point.trim_end_matches('/').to_owned(),
            is_read_only: has_word(mount.next()?, "ro"),
            kind: system.next()?.to_owned(),
            super_options: system.nth(1).unwrap_or_default().to_owned(),
        })
    }

    /// The folder `rest` below the mount point and each folder above it.
    fn ancestors(&self, rest: &str) -> Vec<String> {
        let folders = Path::new(rest).ancestors();
        let folders = folders.map(|folder| format!("{}/{}", self.point, folder.display()));
        folders.map(|folder| folder.trim_end_matches('/').to_owned()).collect()
    }
}

/// True if a list with commas has this word.
fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|one| one == word)
}

/// `path` with `root` taken off its front; `None` if it is not below `root`.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    Path::new(path).strip_prefix(root).ok()?.to_str()
}

/// Undoes the kernel's octal escapes of blanks and backslashes in mountinfo.
fn unescaped(field: &str) -> String {
    let mut text = field.to_owned();
    for (escape, plain) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        text = text.replace(escape, plain);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Root;

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    /// Folders of the pids controller, and whether the first is the process's own.
    fn found(cgroup: &str, mounts: &str, folders: &[&str]) -> Result<(Vec<String>, bool), String> {
        let root = Root::new("");
        root.write("/proc/self/cgroup", cgroup);
        root.write("/proc/self/mountinfo", mounts);
        for folder in folders {
            root.write(&format!("{folder}/x"), "");
        }
        let groups = ControlGroups::read(&root.source()).groups(&root.source(), "pids")?;
        Ok((groups.folders, groups.is_own))
    }

    #[test]
    fn groups_go_up_to_the_mount_point() {
        let own = "/sys/fs/cgroup/user.slice/a b.scope";
        let expected = [own, "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"].map(str::to_owned);
        // Of two mounts the one that shows most ancestors is taken.
        let part = "1 2 0:36 /user.slice /mnt/part rw - cgroup2 cgroup2 rw\n";
        for mounts in [V2.to_owned(), format!("{part}{V2}")] {
            let found = found("0::/user.slice/a b.scope\n", &mounts, &[own, "/mnt/part/a b.scope"]);
            assert_eq!(found, Ok((expected.to_vec(), true)));
        }
        assert_eq!(found("0::/gone\n", V2, &[]), Ok((vec!["/sys/fs/cgroup".to_owned()], false)));
        assert!(found("0::/\n", "", &[]).unwrap_err().contains("no mount"));
        assert!(found("8:cpu:/\n", V2, &[]).unwrap_err().contains("no group"));
    }

    #[test]
    fn version_1_is_taken_if_it_has_the_controller() {
        let mounts = "36 31 0:32 / /m\\040x rw,relatime shared:5 - cgroup cgroup rw,memory\n\
                      40 31 0:36 /docker/abc /p ro - cgroup cgroup rw,pids\n\
                      41 31 0:38 / /u rw - cgroup2 cgroup2 rw\n";
        for (path, folders, is_own) in [
            ("/docker/abc/in", &["/p/in", "/p"][..], true),
            ("/docker/abc", &["/p"], true),
            ("/", &["/p"], false),
            ("/docker/abcd", &["/p"], false),
            ("/../../system.slice", &["/p"], false),
        ] {
            let cgroup = format!("9:name=systemd:/x\n8:pids:{path}\n4:memory:/\n0::/\n");
            let expected = folders.iter().map(|&folder| folder.to_owned()).collect();
            assert_eq!(found(&cgroup, mounts, &["/p/in"]), Ok((expected, is_own)));
        }
    }
}
