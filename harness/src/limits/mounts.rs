//! The lines of `/proc/self/mountinfo` that matter here.

/// One mount; the format is in proc_pid_mountinfo(5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Its number, which /proc/PID/fdinfo has for each open file.
    pub(crate) id: u64,
    /// Which directory of the mounted file system is seen at the mount point.
    pub(crate) root: String,
    /// Where it is mounted.
    pub(crate) point: String,
    /// Whether this mount may not be written to.
    pub(crate) read_only: bool,
    /// `cgroup`, `cgroup2`, `proc` and so on.
    pub(crate) kind: String,
    /// The file system's own options; for `cgroup` they name the controllers.
    pub(crate) options: Vec<String>,
}

impl Mount {
    /// Reads one line; `None` if it is not one.
    fn parse(line: &str) -> Option<Mount> {
        // A number of optional fields stands before the separator.
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ');
        let id = before.next()?.parse().ok()?;
        let mut before = before.skip(2);
        let mut after = after.split(' ');
        let root = unescaped(before.next()?);
        let point = unescaped(before.next()?);
        let read_only = before.next()?.split(',').any(|option| option == "ro");
        let kind = after.next()?.to_owned();
        let options = after.next_back()?.split(',').map(str::to_owned).collect();
        // A path with a line break could not be shown in a comment of a shell.
        if !point.starts_with('/') || point.contains(char::is_control) {
            return None;
        }
        Some(Mount {
            id,
            root,
            point,
            read_only,
            kind,
            options,
        })
    }
}

/// Every mount that can be read from `mountinfo`, in its order.
pub(crate) fn parse(mountinfo: &str) -> Vec<Mount> {
    mountinfo.lines().filter_map(Mount::parse).collect()
}

/// Undoes the kernel's octal escapes of blanks and backslashes.
fn unescaped(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if let (b'\\', Some((digits, tail))) = (first, tail.split_at_checked(3))
            && let Some(byte) = octal(digits)
        {
            bytes.push(byte);
            rest = tail;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0u8, |value, digit| match digit {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(digit - b'0'),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_and_escapes() {
        let line = r"36 35 98:0 /a\040b /mnt\134x ro,noatime master:1 shared:2 - cgroup cgroup rw,cpu,cpuacct";
        let mount = &parse(line)[0];
        assert_eq!(mount.id, 36);
        assert_eq!(mount.root, "/a b");
        assert_eq!(mount.point, r"/mnt\x");
        assert!(mount.read_only);
        assert_eq!(mount.kind, "cgroup");
        assert_eq!(mount.options, ["rw", "cpu", "cpuacct"]);
    }

    #[test]
    fn what_is_no_mount_is_left_out() {
        let lines =
            "\n-\n - \n1 2 3 - x\nnonsense\n1 2 3 / /a\\012b rw - proc proc rw\n\u{1f980} - - -";
        assert_eq!(parse(lines), []);
    }

    #[test]
    fn broken_escapes_stay_as_they_are() {
        assert_eq!(unescaped(r"a\04"), r"a\04");
        assert_eq!(unescaped(r"a\777b\"), r"a\777b\");
        assert_eq!(unescaped(r"a\09zb"), r"a\09zb");
    }
}
