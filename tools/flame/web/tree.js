/* The call tree of what is chosen. All trees have the same face: frame, parent, self[side], total[side], samples,
 * children(node) and endsAt; node 0 is the root. */

/* Which cells count. The last one is of all threads, where time is kept apart from them. */
function chosenSlots(data, state) {
    const chosen = new Uint8Array(data.threads.length * 3 + 1).fill(1);
    data.threads.forEach((thread, i) => {
        const process = state.process < 0 || thread.process === state.process;
        const named = state.thread === "" || state.thread === "t" + i || state.thread === "n" + thread.name;
        for (let gil = 0; gil < 3; gil++)
            chosen[3 * i + gil] = process && named && (!state.gil || state.gil === gil) ? 1 : 0;
    });
    return chosen;
}

/* What a cell of a large page tells (tools/flame/flame.h): who burned, when, or when someone was busy. All there is to
 * know where the page is not so large. */
const CELL_ALL = 0, CELL_WHO = 1, CELL_WHEN = 2, CELL_BUSY = 3;

function cellKinds(data) {
    const kinds = new Uint8Array(data.cells);
    for (let i = 0; data.apart && i < data.cells; i++)
        kinds[i] = data.cellBucket[i] > data.buckets ? CELL_WHO : data.cellNode[i] ? CELL_WHEN : CELL_BUSY;
    return kinds;
}

/* CPU and samples of each node itself, over the chosen threads and the chosen interval. */
function sumCells(data, state, shape) {
    const slots = chosenSlots(data, state), kind = !data.apart ? CELL_ALL : state.from < 0 ? CELL_WHO : CELL_WHEN;
    const sides = data.threads.map((thread) => data.processes[thread.process].side).concat(0);
    const self = data.sides.map(() => new Float64Array(shape.parent.length));
    const samples = data.sides.map(() => new Float64Array(shape.parent.length));
    const first = state.from < 0 ? 0 : state.from, last = state.from < 0 ? Infinity : state.to;
    for (let i = 0; i < data.cells; i++) {
        const slot = data.cellSlot[i], bucket = data.cellBucket[i];
        if (data.cellKind[i] !== kind || !slots[slot] || bucket < first || bucket >= last)
            continue;
        const node = shape.cells[i], side = sides[(slot / 3) | 0];
        self[side][node] += data.cellNs[i];
        samples[side][node] += data.cellCount[i];
    }
    return {self, samples};
}

/* Children of all nodes, one after the other: those of n are list[start[n]] to list[start[n + 1]]. */
function childLists(parent) {
    const count = parent.length, start = new Int32Array(count + 1), list = new Int32Array(Math.max(0, count - 1));
    for (let i = 1; i < count; i++)
        start[parent[i] + 1]++;
    for (let i = 0; i < count; i++)
        start[i + 1] += start[i];
    const next = start.slice();
    for (let i = 1; i < count; i++)
        list[next[parent[i]]++] = i;
    return {start, list};
}

class Tree {
    constructor(shape, sums) {
        const count = shape.parent.length;
        this.parent = shape.parent;
        this.frame = shape.frame;
        this.lists = shape.lists;
        this.self = sums.self;
        this.ownSamples = sums.samples;
        this.total = sums.self.map((self) => self.slice());
        this.samples = sums.samples.map((samples) => samples.slice());
        const totals = [...this.total, ...this.samples];
        for (let i = count - 1; i > 0; i--)
            for (const total of totals)
                total[this.parent[i]] += total[i];
        this.sorted = new Map();
    }

    /* The heaviest first. */
    children(node) {
        let children = this.sorted.get(node);
        if (children)
            return children;
        const {start, list} = this.lists, weight = this.total[this.total.length - 1], other = this.total[0];
        children = Array.from(list.subarray(start[node], start[node + 1])).filter((n) => weight[n] > 0 || other[n] > 0);
        children.sort((a, b) => weight[b] - weight[a] || other[b] - other[a] || a - b);
        this.sorted.set(node, children);
        return children;
    }
}

/* Trees of a profile; what does not depend on the choice is made once. */
class Forest {
    constructor(data) {
        this.data = data;
        this.shapes = new Map();
    }

    /* The tree's form with native code at a level, as tools/query/fold.c folds it, and groups; `cells` is the node of each cell. */
    shape({native, group}) {
        const key = native + " " + group, {data} = this;
        if (!this.shapes.has(key)) {
            const folded = data.folded[native];
            const shape = group ? groupedShape(data, this.shape({native, group: ""}), group) :
                {parent: data.parent, frame: data.frame, cells: folded ? data.cellNode.map((node) => folded[node]) : data.cellNode};
            shape.lists = childLists(shape.parent);
            this.shapes.set(key, shape);
        }
        return this.shapes.get(key);
    }

    tree(state) {
        const shape = this.shape(state);
        return new Tree(shape, sumCells(this.data, state, shape));
    }
}

/* Self and total of each frame in the subtree of `top`; recursion counts once. `samples`: of both. */
function functionTotals(data, tree, top) {
    const frames = data.frames.kind.length, sides = tree.total.length;
    const sums = () => tree.self.map(() => new Float64Array(frames)), self = sums(), total = sums();
    const samples = {self: sums(), total: sums()};
    const open = new Int32Array(frames), {start, list} = tree.lists, path = [top], next = [start[top]];
    while (path.length) {
        const at = path.length - 1, node = path[at], frame = tree.frame[node];
        if (next[at] === start[node] && frame >= 0) {
            for (let side = 0; side < sides; side++) {
                self[side][frame] += tree.self[side][node];
                samples.self[side][frame] += tree.ownSamples[side][node];
                if (!open[frame]) {
                    total[side][frame] += tree.total[side][node];
                    samples.total[side][frame] += tree.samples[side][node];
                }
            }
        }
        if (next[at] === start[node] && frame >= 0)
            open[frame]++;
        if (next[at] < start[node + 1]) {
            const child = list[next[at]++];
            path.push(child);
            next.push(start[child]);
            /* Back here this node must not count again: its place in `next` has moved on. */
            continue;
        }
        path.pop();
        next.pop();
        if (frame >= 0)
            open[frame]--;
    }
    return {self, total, samples};
}

/* Frames of an inverted tree's node, from the innermost function out. */
function callPath(inverted, node) {
    return pathTo(inverted, node).map((n) => inverted.frame[n]);
}

/* The tree with only the CPU time of stacks that end in these frames, the innermost first. */
function only(tree, frames) {
    const ends = (node) => frames.every((frame) => {
        const same = tree.frame[node] === frame;
        node = tree.parent[node];
        return same;
    });
    const self = tree.self.map(() => new Float64Array(tree.parent.length)), samples = self;
    for (let i = 1; i < tree.parent.length; i++)
        if (tree.frame[i] === frames[0] && ends(i))
            tree.self.forEach((from, side) => { self[side][i] = from[i]; });
    return new Tree(tree, {self, samples});
}

/* Which nodes lie on a stack with a frame that matches, and how much that is. */
function matchedNodes(tree, matches) {
    const inside = new Uint8Array(tree.parent.length), sums = tree.self.map(() => 0);
    for (let i = 1; i < inside.length; i++) {
        inside[i] = inside[tree.parent[i]] || matches[tree.frame[i]] ? 1 : 0;
        if (inside[i])
            tree.self.forEach((self, side) => sums[side] += self[i]);
    }
    return {inside, sums};
}
