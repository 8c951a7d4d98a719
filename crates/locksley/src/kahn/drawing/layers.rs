//! Which process is drawn where: in layers, from left to right (Sugiyama, Tagawa and Toda, "Methods for visual understanding of
//! hierarchical system structures", 1981): cycles are opened, each process comes after those that send to it, and within its layer
//! near to them.

/// Of each process: its layer, and its place in it.
pub(super) fn places(processes: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let forward = without_cycles(processes, edges);
    let layers = layers(processes, &forward);
    let count = layers.iter().max().map_or(0, |last| last + 1);
    let mut members = vec![Vec::new(); count];
    for (process, &layer) in layers.iter().enumerate() {
        members[layer].push(process);
    }
    let mut places = vec![0; processes];
    for layer in &mut members {
        // By the mean of the places of those on the left: the barycenter.
        let center = |process: usize| {
            let left = forward.iter().filter(|&&(_, to)| to == process);
            let (sum, count) =
                left.fold((0, 0), |(sum, count), &(from, _)| (sum + places[from], count + 1));
            if count == 0 { 0.0 } else { sum as f64 / f64::from(count) }
        };
        let mut with_centers: Vec<_> =
            layer.iter().map(|&process| (center(process), process)).collect();
        with_centers.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (place, &(_, process)) in with_centers.iter().enumerate() {
            places[process] = place;
        }
    }
    layers.into_iter().zip(places).collect()
}

/// Those edges that do not lead back, as a search in depth meets them.
fn without_cycles(processes: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut out = vec![Vec::new(); processes];
    for &(from, to) in edges {
        out[from].push(to);
    }
    let (mut is_open, mut is_done) = (vec![false; processes], vec![false; processes]);
    let mut forward = Vec::new();
    for start in 0..processes {
        // Processes on the way, and how many of their edges have been seen.
        let mut way = vec![(start, 0)];
        if is_done[start] {
            continue;
        }
        is_open[start] = true;
        while let Some((process, seen)) = way.last_mut() {
            let process = *process;
            let Some(&next) = out[process].get(*seen) else {
                is_open[process] = false;
                is_done[process] = true;
                way.pop();
                continue;
            };
            *seen += 1;
            if is_open[next] {
                continue; // it leads back
            }
            forward.push((process, next));
            if !is_done[next] {
                is_open[next] = true;
                way.push((next, 0));
            }
        }
    }
    forward
}

/// The length of the longest path to each process.
fn layers(processes: usize, forward: &[(usize, usize)]) -> Vec<usize> {
    let (mut out, mut missing) = (vec![Vec::new(); processes], vec![0; processes]);
    for &(from, to) in forward {
        out[from].push(to);
        missing[to] += 1;
    }
    let mut layers = vec![0; processes];
    let mut ready: Vec<_> = (0..processes).filter(|&process| missing[process] == 0).collect();
    while let Some(process) = ready.pop() {
        for &next in &out[process] {
            layers[next] = layers[next].max(layers[process] + 1);
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(next);
            }
        }
    }
    layers
}
