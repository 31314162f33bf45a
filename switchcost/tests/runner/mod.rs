//! `switchcost run` and `report`, with fakes in the place of programs: what they measure is known.

mod alone;
mod ends;
mod placement;
mod plans;
mod private;
mod real;
mod turns;
