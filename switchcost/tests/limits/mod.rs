//! Too little of what a run needs: it is said at once, with what is needed and how to get it.
//! Every limit is lowered for a child alone.

mod check;
mod descriptors;
mod doctor;
mod groups;
mod halfway;
mod maps;
mod memory;
mod raise;
mod systems;
pub(crate) mod users;
