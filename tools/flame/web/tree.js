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
function sumCells(data, state) {
    const slots = chosenSlots(data, state), kind = !data.apart ? CELL_ALL : state.from < 0 ? CELL_WHO : CELL_WHEN;
    const sides = data.threads.map((thread) => data.processes[thread.process].side).concat(0);
    const self = data.sides.map(() => new Float64Array(data.nodes));
    const samples = new Float64Array(data.nodes);
    const first = state.from < 0 ? 0 : state.from, last = state.from < 0 ? Infinity : state.to;
    for (let i = 0; i < data.cells; i++) {
        const slot = data.cellSlot[i], bucket = data.cellBucket[i];
        if (data.cellKind[i] !== kind || !slots[slot] || bucket < first || bucket >= last)
            continue;
        const node = data.cellNode[i];
        self[sides[(slot / 3) | 0]][node] += data.cellNs[i];
        samples[node] += data.cellCount[i];
    }
    return {self, samples};
}

/* The tree without native frames: what they burn counts in the Python frame that called them. */
function pythonShape(data) {
    const frames = data.frames, outside = frames.kind.length - 1; /* addOutsideFrame */
    const place = new Int32Array(data.nodes), parent = [-1], frame = [-1], known = new Map();
    const add = (above, number) => {
        const key = above * (outside + 1) + number;
        let node = known.get(key);
        if (node === undefined) {
            node = parent.length;
            known.set(key, node);
            parent.push(above);
            frame.push(number);
        }
        return node;
    };
    for (let i = 1; i < data.nodes; i++) {
        const above = place[data.parent[i]], number = data.frame[i];
        place[i] = isNative(frames.kind[number]) ? above : add(above, number);
    }
    /* Native code that no Python frame called: it has to be somewhere. */
    for (let i = 1; i < data.nodes; i++)
        if (!place[i])
            place[i] = add(0, outside);
    return {place, parent: Int32Array.from(parent), frame: Int32Array.from(frame)};
}

const NO_PYTHON = "[native code outside of Python]";

/* So that the frame of pythonShape has a name; done once. */
function addOutsideFrame(data) {
    data.frames.kind.push(KIND_PSEUDO);
    data.label.push(NO_PYTHON);
    data.place.push("");
    data.text.push(NO_PYTHON);
    data.module.push(PSEUDO_MODULE);
    data.frames.path.push(0);
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
        this.samples = sums.samples.slice();
        for (let i = count - 1; i > 0; i--) {
            for (const total of this.total)
                total[this.parent[i]] += total[i];
            this.samples[this.parent[i]] += this.samples[i];
        }
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
        this.whole = {parent: data.parent, frame: data.frame};
        this.whole.lists = childLists(data.parent);
        this.python = null;
    }

    tree(state) {
        const sums = sumCells(this.data, state);
        if (state.native)
            return new Tree(this.whole, sums);
        if (!this.python) {
            this.python = pythonShape(this.data);
            this.python.lists = childLists(this.python.parent);
        }
        const fold = (from) => {
            const to = new Float64Array(this.python.parent.length);
            for (let i = 0; i < from.length; i++)
                to[this.python.place[i]] += from[i];
            return to;
        };
        return new Tree(this.python, {self: sums.self.map(fold), samples: fold(sums.samples)});
    }
}

/* Self and total of each frame; recursion counts once. */
function functionTotals(data, tree) {
    const frames = data.frames.kind.length, sides = tree.total.length;
    const self = tree.self.map(() => new Float64Array(frames)), total = tree.self.map(() => new Float64Array(frames));
    const open = new Int32Array(frames), {start, list} = tree.lists, path = [0], next = [start[0]];
    while (path.length) {
        const at = path.length - 1, node = path[at], frame = tree.frame[node];
        if (next[at] === start[node] && frame >= 0) {
            for (let side = 0; side < sides; side++) {
                self[side][frame] += tree.self[side][node];
                if (!open[frame])
                    total[side][frame] += tree.total[side][node];
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
    return {self, total};
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
