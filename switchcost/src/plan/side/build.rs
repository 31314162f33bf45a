//! Sources of a side that is built: a work tree of git's, or these sources with another lock file. Each
//! has a folder in `target/duel`, with a target folder of its own, kept for the next time.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::Source;
use super::lock::Lock;
use crate::plan::checkout::{Checkout, ensure_own, output};

/// Sources of a side that is built, and where.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) sources: PathBuf,
    pub(super) target: PathBuf,
    /// Commit of the sources, and changes since, as far as they are known.
    pub(super) commit: Option<String>,
    pub(super) dirty: Option<bool>,
    /// Commit of a folder that a dependency is taken from, and changes since.
    pub(super) dependency: (Option<String>, Option<bool>),
}

/// Sources of a revision.
pub(super) fn worktree(checkout: &Checkout, revision: &str) -> anyhow::Result<Tree> {
    let commit = format!("{revision}^{{commit}}");
    let hash = checkout
        .git(&["rev-parse", "--verify", "--end-of-options", &commit])
        .and_then(|hash| if hash.starts_with('^') { bail!("it is left out") } else { Ok(hash) })
        .context(
            "no commit of this checkout: name a commit, a branch or a tag, after `git fetch`",
        )?;
    let folder = checkout.target.join("duel").join(format!("git-{hash}"));
    let sources = folder.join("sources");
    let path = sources.to_string_lossy();
    let status = ["-C", &path, "status", "--porcelain", "--untracked-files=no"];
    let is_whole = sources.join(".git").is_file()
        && checkout.git(&status).is_ok_and(|changes| changes.is_empty());
    if !is_whole {
        ensure_own(&[&folder])?;
        // One that was begun or changed, or that `cargo clean` has removed.
        if sources.exists() {
            fs::remove_dir_all(&sources).with_context(|| path.clone().into_owned())?;
        }
        checkout.git(&["worktree", "prune"])?;
        let add = ["worktree", "add", "--quiet", "--force", "--force", "--detach", &path, &hash];
        checkout.git(&add)?;
    }
    let target = folder.join("target");
    Ok(Tree { sources, target, commit: Some(hash), dirty: None, dependency: (None, None) })
}

/// These sources, with another one of a dependency.
pub(super) fn with_source(
    checkout: &Checkout,
    name: &str,
    source: &Source,
) -> anyhow::Result<Tree> {
    let folder = checkout.target.join("duel").join(format!("{name}-{}", folder_name(source)));
    let [sources, base, kept] =
        ["sources", "Cargo.lock.base", "Cargo.lock.kept"].map(|name| folder.join(name));
    let lock = sources.join("Cargo.lock");
    let own = fs::read(checkout.folder.join("Cargo.lock")).context("Cargo.lock")?;
    // A source that is not there leaves no folder.
    let patch = patch(checkout, name, source)?;
    ensure_own(&[&folder])?;
    let now = [&own, patch.as_bytes()].concat();
    // If it was updated before, neither the network is needed nor a new build.
    let is_updated =
        fs::read(&base).is_ok_and(|base| base == now) && fs::rename(&lock, &kept).is_ok();
    // Written again at the end.
    let _ = fs::remove_file(&base);
    mirror(&checkout.folder, &sources)
        .and_then(|()| append(&sources.join("Cargo.toml"), &patch))
        .with_context(|| format!("cannot copy the sources to {}", sources.display()))?;
    if is_updated {
        fs::rename(&kept, &lock).context("Cargo.lock")?;
    } else {
        fs::write(&lock, &own).context("Cargo.lock")?;
        let mut command = checkout.cargo();
        command.args(["update", "--quiet", "--package", name]);
        if let Source::Version(version) = source {
            command.args(["--precise", version]);
        }
        output(command.arg("--manifest-path").arg(sources.join("Cargo.toml")))
            .inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
    }
    // A patch of cargo's configuration stands, whatever cargo was asked for.
    Lock::read(&sources)?.expect(name, source)?;
    fs::write(&base, &now).context("Cargo.lock")?;
    let dependency = match source {
        Source::Path(path) => checkout.revision_of(&package_in(checkout, path, name)?.0),
        Source::Version(_) | Source::Git { .. } => (None, None),
    };
    Ok(Tree { sources, target: folder.join("target"), dependency, ..these(checkout) })
}

/// Name of a source's folder: short, and another one for each source.
fn folder_name(source: &Source) -> String {
    let text = source.to_string();
    let word = text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    if word == text && word.len() < 100 {
        return word;
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let end = word.len().saturating_sub(60);
    format!("{}-{:016x}", &word[end..], hasher.finish())
}

/// Lines of a manifest that take a crate from somewhere else, unless that is the registry.
fn patch(checkout: &Checkout, name: &str, source: &Source) -> anyhow::Result<String> {
    // A text of JSON is one of TOML.
    let text = |text: &str| serde_json::Value::from(text);
    let keys = match source {
        Source::Version(_) => return Ok(String::new()),
        Source::Path(path) => {
            let (folder, version) = package_in(checkout, path, name)?;
            // Another version is another lock file.
            format!("path = {} # {version}", text(&folder.to_string_lossy()))
        }
        Source::Git { url, revision } => {
            let commit = commit(checkout, url, revision)?;
            format!("git = {}\nrev = {}", text(url), text(&commit))
        }
    };
    Ok(format!("\n[patch.crates-io.{name}]\n{keys}\n"))
}

/// Folder of the package of that name in a folder, which may be the root of a workspace, and its version.
fn package_in(checkout: &Checkout, folder: &Path, name: &str) -> anyhow::Result<(PathBuf, String)> {
    let mut command = checkout.cargo();
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata = output(command.arg("--manifest-path").arg(folder.join("Cargo.toml")))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let root = fs::canonicalize(folder)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let packages = packages.filter_map(|package| {
        let manifest = fs::canonicalize(package["manifest_path"].as_str()?).ok()?;
        let folder = manifest.parent()?.to_owned();
        let version = package["version"].as_str()?;
        let is_inside = folder.starts_with(&root);
        is_inside.then_some((package["name"].as_str()?, folder, version))
    });
    let packages: Vec<(&str, PathBuf, &str)> = packages.collect();
    match packages.iter().find(|(other, ..)| *other == name) {
        Some((_, folder, version)) => Ok((folder.clone(), (*version).to_owned())),
        None => {
            let names: Vec<&str> = packages.iter().map(|(name, ..)| *name).collect();
            bail!("{} has no package '{name}', but {}", folder.display(), names.join(", "))
        }
    }
}

/// Commit of a branch or a tag of a repository; what looks like a commit is left to cargo.
fn commit(checkout: &Checkout, url: &str, revision: &str) -> anyhow::Result<String> {
    let is_hash = revision.len() >= 7 && revision.chars().all(|c| c.is_ascii_hexdigit());
    if is_hash && revision.len() == 40 || revision.starts_with("refs/") {
        return Ok(revision.to_owned());
    }
    // The commit that an annotated tag points to comes before the tag, and a tag before a branch, as for git.
    let names = ["tags/{}^{}", "tags/{}", "heads/{}"]
        .map(|name| format!("refs/{}", name.replacen("{}", revision, 1)));
    let [peeled, tag, branch] = names.each_ref().map(String::as_str);
    let found = checkout.git(&["ls-remote", "--", url, peeled, tag, branch])?;
    let lines: Vec<(&str, &str)> = found.lines().filter_map(|line| line.split_once('\t')).collect();
    let commits = names.iter().filter_map(|name| lines.iter().find(|(_, found)| found == name));
    match commits.map(|(commit, _)| *commit).next() {
        Some(commit) => Ok(commit.to_owned()),
        None if is_hash => Ok(revision.to_owned()),
        None => bail!("{url} has no branch, tag or commit '{revision}'"),
    }
}

/// Adds lines to a manifest that is a link to the checkout's own.
fn append(manifest: &Path, lines: &str) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let own = fs::read_to_string(manifest)?;
    fs::remove_file(manifest)?;
    fs::write(manifest, own + lines)
}

/// These sources as they are.
///
/// Not in the usual target folder: built beside others, a program's dependencies have other features, and
/// the sides shall have the same.
pub(super) fn these(checkout: &Checkout) -> Tree {
    let (commit, dirty) = checkout.revision();
    let sources = checkout.folder.clone();
    let target = checkout.target.join("duel").join("sources");
    Tree { sources, target, commit, dirty, dependency: (None, None) }
}

/// Makes `to` a tree of links to the files of `from`, but for its lock file: cargo sees their own times,
/// and builds again only what has changed. The folders are real, since a path with `..` leads out of a
/// linked one.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    if to.is_dir() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        // Hidden files are git's, or cargo's configuration, which is that of the checkout anyway; and
        // cargo marks its target folders, this one's parent among them.
        if name.to_string_lossy().starts_with('.') || path.join("CACHEDIR.TAG").is_file() {
            continue;
        }
        if path.is_dir() {
            mirror(&path, &to.join(name))?;
        } else if name != "Cargo.lock" {
            symlink(path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::programs::Places;

    #[test]
    fn each_source_has_a_folder_of_its_own() {
        let path = |path: &str| folder_name(&Source::Path(path.into()));
        assert_eq!(folder_name(&Source::Version("1.50.0".to_owned())), "1.50.0");
        assert_ne!(path("/a/b"), path("/a-b"));
        assert!(path(&"x/".repeat(2000)).len() < 100);
    }

    #[test]
    fn a_branch_a_tag_and_a_package_of_a_workspace_are_found() {
        let Some(checkout) = Places::find().unwrap().checkout else {
            crate::system::console::say(format_args!("skipped: not in a checkout's target folder"));
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_string_lossy().into_owned();
        let package = |name: &str| format!("[package]\nname = '{name}'\nversion = '1.0.0'\n");
        for (file, text) in [
            ("Cargo.toml", "[workspace]\nmembers = ['one', 'two']\n"),
            ("one/Cargo.toml", &package("one")),
            ("one/src/lib.rs", ""),
            ("two/Cargo.toml", &package("two")),
            ("two/src/lib.rs", ""),
        ] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let found = |name: &str| package_in(&checkout, folder.path(), name);
        let root = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(found("two").unwrap(), (root.join("two"), "1.0.0".to_owned()));
        let why = found("tokio").unwrap_err().to_string();
        assert!(why.contains("no package 'tokio', but one, two"), "{why}");

        let git = |args: &str| {
            let own = ["-C", &path, "-c", "user.name=x", "-c", "user.email=x@x"];
            checkout.git(&own.into_iter().chain(args.split(' ')).collect::<Vec<_>>()).unwrap()
        };
        for args in ["init -q -b main", "add .", "commit -q -m x", "tag -a -m x v1", "branch a/b"] {
            git(args);
        }
        let head = git("rev-parse HEAD");
        let revision_of = |name: &str| checkout.revision_of(&folder.path().join(name));
        assert_eq!(revision_of("two"), (Some(head.clone()), Some(false)));
        fs::write(folder.path().join("two/src/lib.rs"), "//").unwrap();
        assert_eq!(revision_of("two"), (Some(head.clone()), Some(true)));
        fs::create_dir(folder.path().join("unpacked")).unwrap();
        fs::write(folder.path().join("unpacked/Cargo.toml"), "").unwrap();
        assert_eq!(revision_of("unpacked"), (None, None));
        let url = format!("file://{path}");
        for (revision, expected) in [
            ("main", &*head),
            ("a/b", &head),
            ("v1", &head),
            (&head, &head),
            (&head[..9], &head[..9]),
        ] {
            assert_eq!(commit(&checkout, &url, revision).unwrap(), expected, "{revision}");
        }
        let why = commit(&checkout, &url, "nosuch").unwrap_err().to_string();
        assert!(why.contains("no branch, tag or commit 'nosuch'"), "{why}");
        assert!(commit(&checkout, "file:///nosuch", "main").is_err());
    }

    #[test]
    fn sources_of_a_revision_are_its_own_whatever_was_left_there() {
        let Some(mut checkout) = Places::find().unwrap().checkout else {
            crate::system::console::say(format_args!("skipped: not in a checkout's target folder"));
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        checkout.folder = folder.path().to_owned();
        checkout.target = folder.path().join("target");
        let git = |args: &str| {
            let own = ["-c", "user.name=x", "-c", "user.email=x@x"];
            checkout.git(&own.into_iter().chain(args.split(' ')).collect::<Vec<_>>()).unwrap()
        };
        fs::create_dir(folder.path().join("a")).unwrap();
        for name in ["a/b", "Cargo.toml"] {
            fs::write(folder.path().join(name), "own").unwrap();
        }
        for args in ["init -q -b main", "add .", "commit -q -m x"] {
            git(args);
        }
        let sources = worktree(&checkout, "main").unwrap().sources;
        let file = sources.join("a/b");
        let spoils: [fn(&Path) -> io::Result<()>; 3] = [
            |file| fs::write(file, "changed"),
            |file| fs::remove_file(file),
            |file| fs::remove_file(file.with_file_name("../.git")),
        ];
        for spoil in spoils {
            assert_eq!(fs::read_to_string(&file).unwrap(), "own");
            spoil(&file).unwrap();
            assert_eq!(worktree(&checkout, "main").unwrap().sources, sources);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "own");
        assert!(worktree(&checkout, "^main").unwrap_err().to_string().contains("name a commit"));
    }

    /// Else a duel of equal builds would find the layout of their code.
    #[test]
    fn equal_sources_in_two_folders_give_equal_bytes() {
        let Some(checkout) = Places::find().unwrap().checkout else {
            crate::system::console::say(format_args!("skipped: not in a checkout's target folder"));
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("duel/x-1.0.0/sources"));
        fs::create_dir_all(to.join("gone")).unwrap();
        let manifest = |name: &str, needs: &str| {
            format!("[package]\nname = '{name}'\nversion = '1.0.0'\nedition = '2024'\n{needs}")
        };
        for (path, text) in [
            (
                "Cargo.toml",
                "[workspace]\nmembers = ['one', 'two']\nresolver = '3'\n\
                 [profile.dev]\ndebug = false\n",
            ),
            ("one/Cargo.toml", &manifest("one", "[dependencies]\ntwo.path = '../two'\n")),
            ("one/src/main.rs", "fn main() { println!(\"{} {}\", file!(), two::f()) }"),
            ("two/Cargo.toml", &manifest("two", "")),
            (
                "two/build.rs",
                "fn main() { let out = std::env::var(\"OUT_DIR\").unwrap(); \
                 std::fs::write(out + \"/f.rs\", \"pub fn f() -> u32 { 7 }\").unwrap() }",
            ),
            ("two/src/lib.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/f.rs\"));"),
            (".hidden", ""),
            ("built/CACHEDIR.TAG", ""),
        ] {
            let path = from.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        mirror(&from, &to).unwrap();
        for name in ["gone", ".hidden", "built"] {
            assert!(!to.join(name).exists(), "{name}");
        }
        let lock = "version = 4\n[[package]]\nname = \"one\"\nversion = \"1.0.0\"\n\
                    dependencies = [\"two\"]\n[[package]]\nname = \"two\"\nversion = \"1.0.0\"\n";
        let [first, second] = [&from, &to].map(|sources| {
            fs::write(sources.join("Cargo.lock"), lock).unwrap();
            let target = sources.with_file_name("target");
            checkout.cargo_build(sources, &target, &["one"], "one").unwrap();
            fs::read(checkout.profile_folder(&target).join("one")).unwrap()
        });
        assert!(first == second, "{} and {} bytes", first.len(), second.len());
    }
}
