//! What the browser's module of norms leaves out. scripts/wasm sets `norms_alone` for it, whose JavaScript has no word for codes and
//! gradients: a type without values in their definitions tells the compiler that none is ever made, and all that is for them goes. It is
//! no feature of the package, for features must only add.

/// A type without values. (That it has none is private: where all could see it, all that makes one would be warned of as unreachable.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Absent(Nothing);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Nothing {}

/// What would make one.
pub(crate) const fn absent() -> Absent {
    panic!("this build has neither codes nor gradients")
}
