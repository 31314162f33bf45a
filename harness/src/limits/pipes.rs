//! What bounds the links of one user over all of its processes: buffers of pipes, and files
//! watched by epoll. The kernel does not show how much of either is in use, so what other
//! processes of the user hold stays unknown.

use super::Resource;
use super::finding::{Finding, Found};
use super::limit::{Limit, Raise};
use super::system::{CAP_SYS_ADMIN, CAP_SYS_RESOURCE, System, sysctl_file};

/// The buffers of a new pipe (`PIPE_DEF_BUFFERS`, include/linux/pipe_fs_i.h), in pages.
pub(crate) const PAGES_OF_A_PIPE: u64 = 16;

/// Those of a pipe made past the soft limit (`PIPE_MIN_DEF_BUFFERS`, fs/pipe.c); kernels before
/// 5.14 gave a single page.
const PAGES_OF_A_SMALL_PIPE: u64 = 2;

const SOFT: &str = "fs.pipe-user-pages-soft";
const HARD: &str = "fs.pipe-user-pages-hard";
const WATCHES: &str = "fs.epoll.max_user_watches";

/// The limits of pipes and of epoll, in this order.
pub(super) fn findings(system: &System) -> Vec<Finding> {
    vec![
        system.pipes_of_full_size(),
        system.pipes(),
        system.watches(),
    ]
}

impl System {
    /// Kernel fact (`alloc_pipe_info`, fs/pipe.c): a pipe that would take its user's pages past
    /// the soft limit gets two pages; 0 is no limit, and neither limit binds who holds
    /// CAP_SYS_RESOURCE or CAP_SYS_ADMIN (`pipe_is_unprivileged_user`).
    fn pipes_of_full_size(&self) -> Finding {
        self.pages_of_pipes(SOFT, |soft| Ok(soft / PAGES_OF_A_PIPE))
            .shrinks_if_it_binds(
                "in pipes of 16 pages: past it nothing fails, but new ones have 2 pages",
            )
    }

    /// Past the hard limit pipe2(2) fails with ENFILE. Up to the soft one each pipe takes 16
    /// pages, past it two.
    fn pipes(&self) -> Finding {
        self.pages_of_pipes(HARD, |hard| {
            let soft = match self.number(&sysctl_file(SOFT))? {
                0 => hard,
                soft => soft.min(hard),
            };
            let full = soft / PAGES_OF_A_PIPE;
            let small = match soft < hard {
                true => (hard - full * PAGES_OF_A_PIPE) / PAGES_OF_A_SMALL_PIPE,
                false => 0,
            };
            Ok(full + small)
        })
    }

    /// A limit in pages, counted in the pipes that it allows.
    fn pages_of_pipes(&self, key: &'static str, pipes: impl Fn(u64) -> Found) -> Finding {
        let source = sysctl_file(key);
        let free = |pages, why| Finding::free(key, &source, Resource::Pipes, pages, why);
        let pages = match self.number(&source) {
            Ok(0) => return free(None, "0: none is set"),
            Ok(pages) if self.can(CAP_SYS_RESOURCE) || self.can(CAP_SYS_ADMIN) => {
                let why = "CAP_SYS_RESOURCE and CAP_SYS_ADMIN may pass it";
                return free(pipes(pages).ok(), why);
            }
            pages => pages,
        };
        let raise = Raise::Sysctl {
            key,
            most: u64::from(u32::MAX),
            each: PAGES_OF_A_PIPE,
        };
        let amounts = (pages.and_then(pipes), Ok(0));
        self.finding(key, &source, Resource::Pipes, amounts, raise)
            .with_hidden_use(
                "in pipes of 16 pages; what the user's other processes hold is not shown",
            )
    }

    /// Kernel fact (`ep_insert`, fs/eventpoll.c): one more watch fails with ENOSPC, for root too.
    fn watches(&self) -> Finding {
        let most = i64::MAX as u64;
        self.sysctl(WATCHES, most, Resource::Watches, Ok(0))
            .with_hidden_use("what the user's processes watch is not shown")
    }
}

impl Finding {
    /// The same of a limit whose use the kernel does not show.
    fn with_hidden_use(mut self, remark: &str) -> Finding {
        let Some(limit) = self.limit.take() else {
            return self;
        };
        Finding::binds(Limit {
            hidden: true,
            ..limit
        })
        .remarked(remark)
    }

    fn shrinks_if_it_binds(self, remark: &str) -> Finding {
        match self.limit.is_some() {
            true => self.shrinks().remarked(remark),
            false => self,
        }
    }
}
