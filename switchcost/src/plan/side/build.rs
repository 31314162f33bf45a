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
    /// What cargo takes from somewhere else, as values of its configuration.
    pub(super) patch: Vec<String>,
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
    Ok(Tree { sources, target, commit: Some(hash), dirty: None, patch: Vec::new() })
}

/// These sources, with another one of a dependency.
pub(super) fn with_source(
    checkout: &Checkout,
    name: &str,
    source: &Source,
) -> anyhow::Result<Tree> {
    let folder = checkout.target.join("duel").join(format!("{name}-{}", folder_name(source)));
    // A source that is not there leaves no folder.
    let patch = patch(checkout, name, source)?;
    ensure_own(&[&folder])?;
    let tree = Tree {
        sources: folder.join("sources"),
        target: folder.join("target"),
        patch,
        ..these(checkout)
    };
    resolve(checkout, &tree, name, source).inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
    Ok(tree)
}

/// Makes the lock file of sources that take a crate from somewhere else. If it was made before, neither the network is
/// needed nor a new build.
fn resolve(checkout: &Checkout, tree: &Tree, name: &str, source: &Source) -> anyhow::Result<()> {
    let (lock, base) = (tree.sources.join("Cargo.lock"), tree.sources.with_file_name("base"));
    let own = fs::read(checkout.folder.join("Cargo.lock")).context("Cargo.lock")?;
    let manifest = match source {
        Source::Path(path) => fs::read(package_in(path, name)?.join("Cargo.toml"))?,
        Source::Version(_) | Source::Git { .. } => Vec::new(),
    };
    let now = [&own, tree.patch.concat().as_bytes(), &manifest].concat();
    link_entries(&checkout.folder, &tree.sources)
        .with_context(|| format!("cannot link the sources into {}", tree.sources.display()))?;
    if lock.is_file() && fs::read(&base).is_ok_and(|base| base == now) {
        return Lock::read(&tree.sources)?.expect(name, source);
    }
    fs::write(&lock, &own).context("Cargo.lock")?;
    let mut command = checkout.cargo();
    command.args(["update", "--quiet", "--package", name]);
    if let Source::Version(version) = source {
        command.args(["--precise", version]);
    }
    command.args(tree.patch.iter().flat_map(|value| ["--config", value]));
    output(command.arg("--manifest-path").arg(tree.sources.join("Cargo.toml")))?;
    Lock::read(&tree.sources)?.expect(name, source)?;
    fs::write(&base, &now).context("Cargo.lock")
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

/// Values of configuration that take a crate from somewhere else, unless that is the registry.
fn patch(checkout: &Checkout, name: &str, source: &Source) -> anyhow::Result<Vec<String>> {
    // A text of JSON is one of TOML.
    let value = |key: &str, text: &str| {
        format!("patch.crates-io.{name}.{key}={}", serde_json::Value::from(text))
    };
    Ok(match source {
        Source::Version(_) => Vec::new(),
        Source::Path(path) => vec![value("path", &package_in(path, name)?.to_string_lossy())],
        Source::Git { url, revision } => {
            vec![value("git", url), value("rev", &commit(checkout, url, revision)?)]
        }
    })
}

/// Folder of the package of that name: this one, or the one of its name in a workspace.
fn package_in(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let is_of = |folder: &PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = manifest.parse().unwrap_or_default();
        let found = manifest.get("package").and_then(|package| package.get("name")?.as_str());
        found == Some(name)
    };
    let places = [folder.to_owned(), folder.join(name)];
    places.into_iter().find(is_of).with_context(|| {
        format!("{} has no package '{name}': name the folder of its Cargo.toml", folder.display())
    })
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

/// These sources as they are.
///
/// Not in the usual target folder: built beside others, a program's dependencies have other features, and
/// the sides shall have the same.
pub(super) fn these(checkout: &Checkout) -> Tree {
    let (commit, dirty) = checkout.revision();
    let sources = checkout.folder.clone();
    let target = checkout.target.join("duel").join("sources");
    Tree { sources, target, commit, dirty, patch: Vec::new() }
}

/// Gives `to` a link to each entry of `from` that cargo may need: it sees the files' own times, and builds again only
/// what has changed. The lock file is its own.
fn link_entries(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() {
            fs::remove_file(entry.path())?;
        }
    }
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        // Hidden files are git's, or cargo's configuration, which is that of the checkout anyway; and
        // cargo marks its target folders, this one's parent among them.
        let is_hidden = name.to_string_lossy().starts_with('.');
        if !is_hidden && name != "Cargo.lock" && !path.join("CACHEDIR.TAG").is_file() {
            symlink(path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::plan::programs::Places;

    #[test]
    fn each_source_has_a_folder_of_its_own() {
        let path = |path: &str| folder_name(&Source::Path(path.into()));
        assert_eq!(folder_name(&Source::Version("1.50.0".to_owned())), "1.50.0");
        assert_ne!(path("/a/b"), path("/a-b"));
        assert!(path(&"x/".repeat(2000)).len() < 100);
    }

    /// A repository with a commit, and what calls git in it.
    fn repository(checkout: &Checkout, files: &[&str]) -> (TempDir, impl Fn(&str) -> String) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "own").unwrap();
        }
        let path = folder.path().to_string_lossy().into_owned();
        let checkout = checkout.clone();
        let git = move |args: &str| {
            let own = ["-C", &path, "-c", "user.name=x", "-c", "user.email=x@x"];
            checkout.git(&own.into_iter().chain(args.split(' ')).collect::<Vec<_>>()).unwrap()
        };
        for args in ["init -q -b main", "add .", "commit -q -m x"] {
            git(args);
        }
        (folder, git)
    }

    #[test]
    fn a_branch_and_a_tag_are_found() {
        let Some(checkout) = Places::find().unwrap().checkout else { return };
        let (folder, git) = repository(&checkout, &["file"]);
        git("tag -a -m x v1");
        git("branch a/b");
        let head = git("rev-parse HEAD");
        let url = format!("file://{}", folder.path().display());
        for (revision, expected) in
            [("main", &*head), ("a/b", &head), ("v1", &head), (&head[..9], &head[..9])]
        {
            assert_eq!(commit(&checkout, &url, revision).unwrap(), expected, "{revision}");
        }
        let why = commit(&checkout, &url, "nosuch").unwrap_err().to_string();
        assert!(why.contains("no branch, tag or commit 'nosuch'"), "{why}");
    }

    #[test]
    fn sources_of_a_revision_are_its_own_whatever_was_left_there() {
        let Some(mut checkout) = Places::find().unwrap().checkout else { return };
        let (folder, _) = repository(&checkout, &["a/b", "Cargo.toml"]);
        checkout.folder = folder.path().to_owned();
        checkout.target = folder.path().join("target");
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

    #[test]
    fn a_package_is_in_its_folder_or_in_a_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("one");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("Cargo.toml"), "[package]\nname = 'one'\n").unwrap();
        for place in [folder.path(), &own] {
            assert_eq!(package_in(place, "one").unwrap(), own);
        }
        let why = package_in(&own, "tokio").unwrap_err().to_string();
        assert!(why.contains("no package 'tokio'"), "{why}");
    }

    /// Else a duel of equal builds would find the layout of their code.
    #[test]
    fn equal_sources_in_two_folders_give_equal_bytes() {
        let Some(checkout) = Places::find().unwrap().checkout else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("duel/x-1.0.0/sources"));
        fs::create_dir_all(&to).unwrap();
        symlink("nowhere", to.join("gone")).unwrap();
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
        link_entries(&from, &to).unwrap();
        for name in ["gone", ".hidden", "built"] {
            assert!(to.join(name).symlink_metadata().is_err(), "{name}");
        }
        let lock = "version = 4\n[[package]]\nname = \"one\"\nversion = \"1.0.0\"\n\
                    dependencies = [\"two\"]\n[[package]]\nname = \"two\"\nversion = \"1.0.0\"\n";
        let [first, second] = [&from, &to].map(|sources| {
            fs::write(sources.join("Cargo.lock"), lock).unwrap();
            let target = sources.with_file_name("target");
            checkout.cargo_build(sources, &target, &["one"], &[], "one").unwrap();
            fs::read(checkout.profile_folder(&target).join("one")).unwrap()
        });
        assert!(first == second, "{} and {} bytes", first.len(), second.len());
    }
}
