//! A library with libgomp's interface, and most of what clang's programs use of libomp's:
//! OpenMP programs that gcc or clang has compiled run on it unmodified.
//!
//! It is preloaded (`LD_PRELOAD=libgomp_locksley.so program`) or linked (`-lgomp_locksley`). It has
//! no interface for Rust.
//!
//! | module | contents |
//! |---|---|
//! | `interface` | the functions `GOMP_*`, `__kmpc_*` and `omp_*` |
//! | `team` | threads, regions, barriers, and who executes tasks |
//! | `tasks` | tasks, groups, dependences, reductions |
//! | `shares` | loops and other constructs that a team shares |
//! | `memory` | zeroed memory for variables |
//! | `waiting` | how threads wait, and what the machine grants |
//! | `trace` | recordings for `locksley top` and `locksley trace` |
//! | `environment` | OMP_* variables |
//! | `first_line` | what `LOCKSLEY_VERBOSE` shows |
//! | `rounds` | a loop that `locksley-openmp check` measures |
//! | `race_detector` | what ThreadSanitizer is told |
#![cfg(target_os = "linux")]
// The models need a part of the modules only.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

#[cfg(not(loom))]
mod affinity;
#[cfg(not(loom))]
mod allocator;
#[cfg(not(loom))]
mod environment;
#[cfg(not(loom))]
mod first_line;
mod icv;
#[cfg(not(loom))]
mod interface;
mod memory;
#[cfg(not(loom))]
mod messages;
mod mutex;
mod race_detector;
#[cfg(not(loom))]
mod rounds;
mod shares;
#[cfg(not(loom))]
mod tasks;
#[cfg(not(loom))]
mod team;
#[cfg(not(loom))]
mod trace;
mod uncancelled;
mod waiting;
