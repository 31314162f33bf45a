//! The house of the runner, as CONTRIBUTING.md describes it: a folder is a stage, knows those before it alone,
//! no verb calls a verb, and no two files know each other, in one step or in several.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders from the ground up.
const FLOORS: [&str; 7] = ["system", "plan", "measure", "views", "render", "check", "verbs"];

/// Files in `verbs` that are no verbs, for all of them.
const SHARED: [&str; 4] = ["args", "gate", "kept", "output"];

/// Names from the root of a crate: of a module, or of an item in one.
type Names = Vec<String>;

/// Files of a crate by their modules.
struct Sources {
    modules: BTreeMap<Names, Module>,
}

/// A file, its tests apart.
struct Module {
    file: String,
    /// Paths that it uses, from the root.
    uses: BTreeSet<Names>,
    /// Names that stand for another path: `pub use`.
    exports: BTreeMap<String, Names>,
}

impl Sources {
    /// Reads a crate's folder `src`.
    fn read(src: &Path) -> Self {
        let mut texts = BTreeMap::new();
        collect(src, src, &mut texts);
        let modules: BTreeSet<Names> = texts.values().map(|(module, _)| module.clone()).collect();
        let read = |(file, (module, text)): (String, (Names, String))| {
            let (mut uses, mut exports) = (BTreeSet::new(), BTreeMap::new());
            let absolute = |path: &[&str]| absolute(&modules, &module, path);
            let (statements, rest) = statements(&text);
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let words: BTreeSet<&str> = rest.split(|c| !is_part(c)).collect();
            let names = words.iter().filter_map(|word| word.split("::").next());
            let names: BTreeSet<&str> = names.collect();
            for (is_export, statement) in statements {
                let mut paths = Vec::new();
                expand(&[], &statement, &mut paths);
                for (path, name) in paths {
                    let Some(path) = absolute(&path) else { continue };
                    if !is_export || names.contains(name) {
                        uses.insert(path.clone());
                    }
                    if is_export {
                        exports.insert(name.to_owned(), path);
                    }
                }
            }
            for word in words.iter().filter(|word| word.contains("::")) {
                uses.extend(absolute(&word.split("::").collect::<Vec<_>>()));
            }
            (module.clone(), Module { file, uses, exports })
        };
        Sources { modules: texts.into_iter().map(read).collect() }
    }

    /// The module in which an item is defined.
    fn home(&self, path: &[String]) -> Names {
        let mut at = Names::new();
        for (k, name) in path.iter().enumerate() {
            let below = [&at[..], std::slice::from_ref(name)].concat();
            if self.modules.contains_key(&below) {
                at = below;
                continue;
            }
            let export = self.modules.get(&at).and_then(|module| module.exports.get(name));
            let Some(target) = export.filter(|target| target[..] != path[..=k]) else { break };
            return self.home(&[&target[..], &path[k + 1..]].concat());
        }
        at
    }

    /// Modules that one knows.
    fn known(&self, module: &Names) -> BTreeSet<Names> {
        let homes = self.modules[module].uses.iter().map(|path| self.home(path));
        homes.filter(|home| home != module && self.modules.contains_key(home)).collect()
    }

    /// Files that know each other, in one step or in several: what is left when whoever knows nobody, or is known by
    /// nobody, is taken away.
    fn circles(&self) -> Vec<&str> {
        let mut left: BTreeMap<&Names, BTreeSet<Names>> =
            self.modules.keys().map(|module| (module, self.known(module))).collect();
        loop {
            let known: BTreeSet<Names> = left.values().flatten().cloned().collect();
            let knowing: BTreeSet<Names> = left.keys().copied().cloned().collect();
            left.retain(|module, knows| known.contains(*module) && !knows.is_disjoint(&knowing));
            if left.len() == knowing.len() {
                return left.keys().map(|module| self.modules[*module].file.as_str()).collect();
            }
        }
    }
}

/// Rust sources below a folder, tests apart, by their paths in it: the module and the text.
fn collect(src: &Path, folder: &Path, texts: &mut BTreeMap<String, (Names, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() {
            collect(src, &path, texts);
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !["tests", "testing", "fixtures", "main"].contains(&stem)
        {
            let file = path.strip_prefix(src).unwrap().display().to_string();
            let module = file.trim_end_matches(".rs").split('/').map(str::to_owned);
            let module = module.filter(|name| name != "mod" && name != "lib").collect();
            let text = fs::read_to_string(&path).unwrap();
            let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let lines = own.lines().filter(|line| !line.trim_start().starts_with("//"));
            texts.insert(file, (module, lines.collect::<Vec<_>>().join("\n")));
        }
    }
}

/// The `use` statements of a source, true for those that export, and the rest of it.
fn statements(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut statements, mut rest) = (Vec::new(), String::new());
    for statement in text.split_inclusive(';') {
        let begin = statement.rfind("use ").filter(|&at| {
            let before = statement[..at].rsplit('\n').next().unwrap().trim();
            before.is_empty() || before.starts_with("pub")
        });
        let Some(begin) = begin else {
            rest += statement;
            continue;
        };
        let line = statement[..begin].rfind('\n').map_or(0, |at| at + 1);
        rest += &statement[..line];
        let is_export = statement[line..begin].trim_start().starts_with("pub");
        statements.push((is_export, statement[begin + 4..].trim_end_matches(';').to_owned()));
    }
    (statements, rest)
}

/// The paths of a `use` statement, each with the name that it is used by.
fn expand<'a>(before: &[&'a str], tree: &'a str, paths: &mut Vec<(Vec<&'a str>, &'a str)>) {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path: Vec<&str> = before.iter().copied().chain(path.split("::")).collect();
        let path: Vec<&str> = path.into_iter().filter(|name| !name.is_empty()).collect();
        let last = path.last().copied().unwrap_or_default();
        paths.push((path, if name.is_empty() { last } else { name }));
        return;
    };
    let before: Vec<&str> = before.iter().copied().chain(head.split("::")).collect();
    let inner = &rest[..rest.rfind('}').unwrap()];
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&before, &inner[begin..at], paths);
                begin = at + 1;
            }
            _ => {}
        }
    }
    // A list over several lines ends with a comma.
    if !inner[begin..].trim().is_empty() {
        expand(&before, &inner[begin..], paths);
    }
}

/// A path from the root of its crate; `None` if it is of another crate.
fn absolute(modules: &BTreeSet<Names>, module: &Names, path: &[&str]) -> Option<Names> {
    let mut at = module.clone();
    let mut names = path.iter().copied().filter(|name| !name.is_empty()).peekable();
    match *names.peek()? {
        "crate" => at.clear(),
        "super" | "self" => {}
        name if modules.contains(&[&at[..], &[name.to_owned()]].concat()) => {}
        _ => return None,
    }
    for name in names {
        match name {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            name => at.push(name.to_owned()),
        }
    }
    Some(at)
}

/// The crate of the runner.
fn runner() -> Sources {
    Sources::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")))
}

#[test]
fn each_floor_knows_those_below() {
    let sources = runner();
    let mut faults = Vec::new();
    for (module, Module { file, .. }) in &sources.modules {
        let [folder, own, ..] = &module[..] else { continue };
        let floor = FLOORS.iter().position(|floor| floor == folder);
        let floor = floor.unwrap_or_else(|| panic!("{file}: a folder that is no floor"));
        for other in sources.known(module) {
            let above = FLOORS
                .iter()
                .skip(floor + 1)
                .any(|above| other.first().is_some_and(|o| o == above));
            let is_verb = other.first().is_some_and(|folder| folder == "verbs")
                && other.get(1).is_some_and(|verb| verb != own && !SHARED.contains(&&**verb));
            if above || is_verb || other.is_empty() {
                faults.push(format!("{file} knows {}", sources.modules[&other].file));
            }
        }
    }
    assert!(sources.modules.len() > 50 && faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_two_files_know_each_other() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lib");
    for entry in fs::read_dir(lib).unwrap() {
        let src = entry.unwrap().path().join("src");
        assert_eq!(Sources::read(&src).circles(), [""; 0], "{}", src.display());
    }
    assert_eq!(runner().circles(), [""; 0]);
}
