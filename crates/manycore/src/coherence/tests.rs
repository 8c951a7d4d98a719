use super::*;

#[test]
fn a_line_moves() {
    let topology = Topology::new(2, 1, 2, 1).unwrap();
    let mut caches = Coherence::new(topology, CacheCosts::epyc_guest(), 4);
    let line = LineIndex(1);
    assert_eq!(caches.hit(Cpu(0), line, Access::Load), None);
    let first = caches.miss(Cpu(0), line, Access::Load, 0, 0);
    assert_eq!((first.done, first.kind), (90, MissKind::Memory));
    assert_eq!(caches.hit(Cpu(0), line, Access::Store), Some(1));
    let second = caches.miss(Cpu(1), line, Access::Load, 100, 0);
    assert_eq!((second.done, second.kind), (138, MissKind::Copy(Distance::Cluster)));
    assert_eq!(caches.hit(Cpu(0), line, Access::Store), None);
}
