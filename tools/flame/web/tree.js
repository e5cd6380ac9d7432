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

/* What folding does with a frame, as in tools/query/fold.c. */
const FOLD_SHOWN = 0, FOLD_INTERPRETER = 1, FOLD_LIBRARY = 2, FOLD_MARK = 3, FOLD_TASK = 4, FOLD_AWAITED = 5;
const TASK = /^\[task[ \]]/, AWAITED = "[awaited]", CREATOR = "[creator]";

function foldClasses(data, level) {
    return Uint8Array.from(data.frames.kind, (kind, i) => {
        if (level === OWN_CODE && kind > 0 && kind !== KIND_PSEUDO)
            return FOLD_LIBRARY;
        if (kind === KIND_NATIVE)
            return FOLD_INTERPRETER;
        if (kind === KIND_NATIVE + 1 || data.label[i] === "[jit]")
            return FOLD_LIBRARY;
        if (kind !== KIND_PSEUDO)
            return FOLD_SHOWN;
        if (data.label[i].startsWith("[native stack truncated"))
            return FOLD_MARK;
        return TASK.test(data.label[i]) ? FOLD_TASK : data.label[i] === AWAITED ? FOLD_AWAITED : FOLD_SHOWN;
    });
}

/* Gives add(parent, frame): a number for each child, the same for the same. */
function childAdder(most) {
    const parent = new Int32Array(most).fill(-1), frame = new Int32Array(most).fill(-1);
    const mask = 2 ** Math.ceil(Math.log2(2 * most)) - 1, slots = new Int32Array(mask + 1);
    let count = 1;
    const add = (above, number) => {
        let at = (Math.imul(above, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)) >>> 7 & mask;
        for (; slots[at]; at = at + 1 & mask)
            if (parent[slots[at]] === above && frame[slots[at]] === number)
                return slots[at];
        parent[count] = above;
        frame[count] = number;
        return slots[at] = count++;
    };
    return {add, shape: () => ({parent: parent.subarray(0, count), frame: frame.subarray(0, count)})};
}

/* The tree with some native frames folded into the Python functions that run them, as --native says, or with all code
 * of others folded into the application's; `place` is where
 * each node has gone, `under` and `base` are as in tools/query/fold.h. */
function foldedShape(data, level) {
    const classes = foldClasses(data, level), none = level === "none" || level === OWN_CODE;
    const [interpreter, libraries, loop, others] = data.outside, native = level === OWN_CODE ? others : libraries;
    const tasks = data.frame.reduce((count, frame) => (classes[frame] === FOLD_TASK ? count + 1 : count), 0);
    const inTask = new Uint8Array(data.nodes);
    const place = new Int32Array(data.nodes), under = new Int32Array(data.nodes), base = new Int32Array(data.nodes);
    const {add, shape} = childAdder(data.nodes + tasks);
    for (let i = 1; i < data.nodes; i++) {
        const parent = data.parent[i], frame = data.frame[i], kind = classes[frame], above = under[parent], root = base[parent];
        under[i] = above;
        base[i] = root;
        inTask[i] = kind === FOLD_TASK ? 1 : inTask[parent];
        if (kind === FOLD_SHOWN)
            place[i] = under[i] = add(above || root, frame);
        else if (kind === FOLD_AWAITED) {
            place[i] = base[i] = add(above || root, frame);
            under[i] = 0;
        } else if (kind === FOLD_TASK) {
            const follows = !parent || inTask[parent] || data.label[data.frame[parent]] === CREATOR;
            const at = follows ? place[parent] : add(root, loop);
            place[i] = add(at, frame);
            if (at === root && !above)
                base[i] = place[i];
            else
                under[i] = place[i];
        } else if (none)
            place[i] = above || add(root, kind === FOLD_MARK && place[parent] === root ? frame : native);
        else if (kind === FOLD_INTERPRETER)
            place[i] = above || add(root, interpreter);
        else if (kind === FOLD_MARK)
            place[i] = add(above || place[parent], frame);
        else {
            place[i] = add(place[parent], frame);
            under[i] = above ? place[i] : 0;
        }
    }
    return {place, ...shape()};
}

const OUTSIDE = ["[interpreter]", "[native]", "[loop]", "[code of others]"];

/* Adds a frame that is no function. Returns its number. */
function addPseudoFrame(data, name) {
    data.frames.kind.push(KIND_PSEUDO);
    data.frames.path.push(0);
    data.frames.line.push(0);
    data.label.push(name);
    data.place.push("");
    data.text.push(name);
    return data.module.push(PSEUDO_MODULE) - 1;
}

/* So that what is folded has a name where nothing else is left; done once. */
function addOutsideFrames(data) {
    data.outside = OUTSIDE.map((name) => addPseudoFrame(data, name));
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

    /* The tree's form with native code at a level and groups; `cells` is the node of each cell. */
    shape({native, group}) {
        const key = native + " " + group, {data} = this;
        if (!this.shapes.has(key)) {
            const shape = group ? groupedShape(data, this.shape({native, group: ""}), group) :
                native === "all" ? {parent: data.parent, frame: data.frame, cells: data.cellNode} : foldedShape(data, native);
            if (!shape.cells)
                shape.cells = data.cellNode.map((node) => shape.place[node]);
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
