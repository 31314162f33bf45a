//! What kernel parameters were before runs with `--raise-limits` changed them, and who still needs
//! them as they are.
//!
//! Two files in one folder. `users`: each run holds a shared lock on it for its whole life, which
//! the kernel drops however the run ends. `ledger`: a line for each parameter, its file, what it
//! was, and what was last written to it; read and changed under a short exclusive lock. A run that
//! ends and gets the exclusive lock on `users` is the last one, and puts back every parameter that
//! still has the value that was written: one that somebody has set since is left as it is. What a
//! run that was killed has left is put back at the end of the next one.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use super::{Outcome, number};

/// Only root can change a kernel parameter, and only root can write here.
const FOLDER: &str = "/run/switchcost";

/// Holds kernel parameters as they are.
#[derive(Debug)]
pub struct Lease {
    users: Flock<File>,
    ledger_file: File,
    ledger: Option<Ledger>,
}

/// The ledger while it is locked.
#[derive(Debug)]
pub(super) struct Ledger {
    file: Flock<File>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    parameter: String,
    before: u64,
    written: u64,
}

impl Lease {
    /// Becomes one of those who need the parameters as they are, with the ledger open.
    pub(super) fn take() -> io::Result<Lease> {
        Lease::take_in(Path::new(FOLDER))
    }

    fn take_in(folder: &Path) -> io::Result<Lease> {
        let at = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", folder.display()));
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(at(e)),
            _ => {}
        }
        let users = open(&folder.join("users")).map_err(at)?;
        let users = Flock::lock(users, FlockArg::LockShared).map_err(|(_, e)| at(e.into()))?;
        let ledger_file = open(&folder.join("ledger")).map_err(at)?;
        let ledger = Some(Ledger::lock(&ledger_file).map_err(at)?);
        Ok(Lease {
            users,
            ledger_file,
            ledger,
        })
    }

    pub(super) fn ledger(&mut self) -> Option<&mut Ledger> {
        self.ledger.as_mut()
    }

    pub(super) fn release_ledger(&mut self) {
        self.ledger = None;
    }

    /// Ends the run's need. The last one puts everything back, and tells of each parameter.
    pub fn end(mut self) -> Vec<Outcome> {
        self.release_ledger();
        let mut ledger = match Ledger::lock(&self.ledger_file) {
            Ok(ledger) => ledger,
            Err(e) => {
                return vec![Outcome::Left {
                    file: FOLDER.to_owned(),
                    why: format!("cannot read what to put back: {e}"),
                }];
            }
        };
        if ledger.lines.is_empty() {
            return Vec::new();
        }
        // A newcomer takes its share of this lock before it looks at the ledger.
        if self.users.relock(FlockArg::LockExclusiveNonblock).is_err() {
            let others = |line: &Line| Outcome::Left {
                file: line.parameter.clone(),
                why: "another run with --raise-limits needs it, and will put it back".to_owned(),
            };
            return ledger.lines.iter().map(others).collect();
        }
        let mut outcomes = Vec::new();
        // What could not be put back is left for the next run to try.
        ledger.lines.retain(|line| {
            let (outcome, is_settled) = line.put_back();
            outcomes.push(outcome);
            !is_settled
        });
        if let Err(e) = ledger.save() {
            outcomes.push(Outcome::Left {
                file: FOLDER.to_owned(),
                why: format!("what was put back cannot be struck out: {e}"),
            });
        }
        outcomes
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

impl Ledger {
    fn lock(file: &File) -> io::Result<Ledger> {
        let lock = Flock::lock(file.try_clone()?, FlockArg::LockExclusive);
        let mut file = lock.map_err(|(_, e)| io::Error::from(e))?;
        let mut text = String::new();
        file.rewind()?;
        file.read_to_string(&mut text)?;
        Ok(Ledger {
            file,
            lines: text.lines().filter_map(Line::parse).collect(),
        })
    }

    /// Writes down that a parameter is changed by `change`, before it is; where that fails, the
    /// ledger is as it was.
    pub(super) fn note(
        &mut self,
        parameter: &str,
        (before, written): (u64, u64),
        change: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let lines = self.lines.clone();
        self.add(parameter, before, written);
        let changed = self.save().and_then(|()| change());
        if changed.is_err() {
            self.lines = lines;
            self.save()?;
        }
        changed
    }

    fn add(&mut self, parameter: &str, before: u64, written: u64) {
        match self.lines.iter_mut().find(|l| l.parameter == parameter) {
            Some(line) if line.written == before => line.written = written,
            // Somebody else has set it since: that value is the one to go back to.
            Some(line) => (line.before, line.written) = (before, written),
            None => self.lines.push(Line {
                parameter: parameter.to_owned(),
                before,
                written,
            }),
        }
    }

    fn save(&mut self) -> io::Result<()> {
        let mut text = String::new();
        for line in &self.lines {
            let Line {
                parameter,
                before,
                written,
            } = line;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{parameter} {before} {written}");
        }
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }
}

impl Line {
    fn parse(text: &str) -> Option<Line> {
        let mut fields = text.split(' ');
        let line = Line {
            parameter: fields.next()?.to_owned(),
            before: fields.next()?.parse().ok()?,
            written: fields.next()?.parse().ok()?,
        };
        fields.next().is_none().then_some(line)
    }

    /// Puts the parameter back if it still has the value that was written. Says also whether that
    /// was all that can be done.
    fn put_back(&self) -> (Outcome, bool) {
        let file = self.parameter.clone();
        let left = |why| Outcome::Left {
            file: self.parameter.clone(),
            why,
        };
        match number(&file) {
            // Written down but never set, or put back by hand.
            Ok(now) if now == self.before => (Outcome::PutBack { file, to: now }, true),
            Ok(now) if now != self.written => {
                let before = self.before;
                let why = format!("it was set to {now} meanwhile (it was {before} before)");
                (left(why), true)
            }
            Ok(_) => match fs::write(&file, self.before.to_string()) {
                Ok(()) => {
                    let to = self.before;
                    (Outcome::PutBack { file, to }, true)
                }
                Err(e) => (left(format!("{e}; it was {} before", self.before)), false),
            },
            Err(why) => (left(why), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder for the ledger, and a file in the place of a parameter.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let name = format!("ledger-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            let place = Place(folder);
            place.set(100);
            place
        }

        fn parameter(&self) -> String {
            self.0.join("parameter").to_str().unwrap().to_owned()
        }

        fn set(&self, value: u64) {
            fs::write(self.0.join("parameter"), value.to_string()).unwrap();
        }

        fn value(&self) -> u64 {
            number(&self.parameter()).unwrap()
        }

        fn lease(&self) -> Lease {
            Lease::take_in(&self.0.join("run")).unwrap()
        }

        /// A lease that raises the parameter.
        fn raised(&self, to: u64) -> Lease {
            let mut lease = self.lease();
            let from = self.value();
            let ledger = lease.ledger().unwrap();
            let set = || {
                self.set(to);
                Ok(())
            };
            ledger.note(&self.parameter(), (from, to), set).unwrap();
            lease.release_ledger();
            lease
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn left(outcomes: &[Outcome]) -> &str {
        match outcomes {
            [Outcome::Left { why, .. }] => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_raised_is_put_back() {
        let place = Place::new("alone");
        let outcomes = place.raised(200).end();
        let (file, to) = (place.parameter(), 100);
        assert_eq!(outcomes, [Outcome::PutBack { file, to }]);
        assert_eq!(place.value(), 100);
        assert_eq!(place.lease().end(), [], "once is enough");
    }

    #[test]
    fn the_last_of_those_who_need_it_puts_it_back() {
        let place = Place::new("two");
        let first = place.raised(200);
        // One needs more, and one finds what is there enough.
        let second = place.raised(300);
        let mut third = place.lease();
        third.release_ledger();
        assert!(left(&first.end()).contains("another run"));
        assert!(left(&second.end()).contains("another run"));
        assert_eq!(place.value(), 300);
        assert!(matches!(
            third.end()[..],
            [Outcome::PutBack { to: 100, .. }]
        ));
        assert_eq!(place.value(), 100);
    }

    #[test]
    fn what_somebody_has_set_meanwhile_is_left() {
        let place = Place::new("meanwhile");
        let lease = place.raised(200);
        place.set(250);
        assert!(left(&lease.end()).contains("set to 250"));
        assert_eq!(place.value(), 250);
        // And is what the next run goes back to.
        place.raised(400).end();
        assert_eq!(place.value(), 250);
    }

    #[test]
    fn what_a_killed_run_has_left_is_put_back_by_the_next() {
        let place = Place::new("killed");
        drop(place.raised(200));
        assert_eq!(place.value(), 200);
        let mut next = place.lease();
        next.release_ledger();
        assert!(matches!(next.end()[..], [Outcome::PutBack { to: 100, .. }]));
        assert_eq!(place.value(), 100);
    }

    #[test]
    fn a_broken_ledger_is_no_reason_to_fail() {
        let place = Place::new("broken");
        place.lease().end();
        let file = place.0.join("run/ledger");
        fs::write(file, "nonsense\n/x 1\n/x one 2\n/x 1 2 3\n").unwrap();
        assert_eq!(place.lease().end(), []);
    }
}
