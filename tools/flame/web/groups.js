/* Whose CPU it was: the words of --by as groups of cells. */

const NO_GROUP = "(none)", LEFT_OUT = "[not selected]", PROCESS = "(process)", THREADS = "thread", PACKAGES = "package";

/* PP_PSEUDO_PARTS in preload/common/pseudo_frames.h: pseudo-frames that are a part of a stack, and no CPU time of their own. */
const PARTS_OF_STACKS = /^\[(native|interpreter|python|jit|frame|task|loop\]|creator\]|await)/;
const GENERATED = /^<(?!string>$|stdin>$)/;

/* What is of the process as a whole is of no thread. */
function threadNames(data) {
    return data.threads.map((thread) => (thread.tid || thread.name !== PROCESS ? thread.name : ""));
}

function packageInPath(path) {
    const found = /\/(?:site|dist)-packages\/([^/]+)/.exec(path);
    return found ? found[1].replace(/\.py$/, "") : "";
}

/* By frame: the package of what is a package's own code, as in tools/query/package.c; "": that is its caller's. */
function ownPackages(data) {
    return data.frames.kind.map((kind, i) => {
        const path = data.strings[data.frames.path[i]];
        if (isNative(kind))
            return packageInPath(path);
        return kind === 1 || (kind === 0 && !GENERATED.test(path)) ? data.module[i] : "";
    });
}

/* By node of a tree's form: the package for which its CPU time counts. */
function packagesOf(data, shape) {
    const own = ownPackages(data), found = new Array(shape.parent.length).fill("");
    for (let i = 1; i < found.length; i++) {
        const frame = shape.frame[i], label = data.label[frame], without = found[shape.parent[i]];
        if (data.frames.kind[frame] === KIND_PSEUDO)
            found[i] = label === "[gc]" || (!without && !PARTS_OF_STACKS.test(label)) ? label : without;
        else
            found[i] = own[frame] || without || (isNative(data.frames.kind[frame]) ? "" : data.module[frame]);
    }
    return found;
}

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

/* Gives data.groups: the words, each with a frame for each of its values. */
function addGroups(data) {
    /* At every level of native code. */
    const packages = ["", ...ownPackages(data), ...data.module.filter((module, i) => data.frames.kind[i] === 2 || data.frames.kind[i] === 0),
        ...data.label.filter((label, i) => data.frames.kind[i] === KIND_PSEUDO && !PARTS_OF_STACKS.test(label))];
    data.groups = new Map();
    const add = (by, values) => {
        const frames = new Map();
        for (const value of new Set(values))
            frames.set(value, addPseudoFrame(data, value || NO_GROUP));
        data.groups.set(by, frames);
    };
    const leftOut = data.label.includes(LEFT_OUT) ? [LEFT_OUT] : [];
    for (const context of data.contexts) {
        context.values = context.values.map((value) => (value === null ? "" : visible(value)));
        add(context.by, [...context.values, ...leftOut]);
    }
    if (!data.apart)
        add(THREADS, threadNames(data));
    add(PACKAGES, packages);
}

/* The frame of the value that each cell has. */
function valuesOfCells(data, by, shape) {
    const frames = data.groups.get(by), context = data.contexts.find((one) => one.by === by);
    const numbers = (values) => values.map((value) => frames.get(value));
    if (context) {
        const of = numbers(context.values), none = frames.get(""), leftOut = frames.get(LEFT_OUT);
        const isLeftOut = (node) => data.label[shape.frame[node]] === LEFT_OUT;
        return (cell) => {
            const value = of[data.cellLabels[cell]];
            return value === none && isLeftOut(shape.cells[cell]) ? leftOut : value;
        };
    }
    if (by === THREADS) {
        const of = numbers(threadNames(data));
        return (cell) => of[(data.cellSlot[cell] / 3) | 0];
    }
    const of = numbers(packagesOf(data, shape));
    return (cell) => of[shape.cells[cell]];
}

/* The tree's form with the value of each cell above its stack. */
function groupedShape(data, shape, by) {
    const valueOf = valuesOfCells(data, by, shape), roots = new Map(), known = new Map(), path = [];
    const parent = [-1], frame = [-1], cells = new Int32Array(data.cells), nodes = shape.parent.length;
    const make = (above, number) => {
        parent.push(above);
        frame.push(number);
        return parent.length - 1;
    };
    const root = (value) => {
        if (!roots.has(value))
            roots.set(value, make(0, value));
        return roots.get(value);
    };
    for (let i = 0; i < cells.length; i++) {
        const value = valueOf(i);
        let at = shape.cells[i], made;
        if (!at) /* who was busy, in a large page */
            continue;
        while (at && (made = known.get(value * nodes + at)) === undefined) {
            path.push(at);
            at = shape.parent[at];
        }
        if (!at)
            made = root(value);
        while (path.length) {
            at = path.pop();
            made = make(made, shape.frame[at]);
            known.set(value * nodes + at, made);
        }
        cells[i] = made;
    }
    return {parent: Int32Array.from(parent), frame: Int32Array.from(frame), cells};
}

function fillGroups(app) {
    const select = document.getElementById("group");
    select.append(option("", "nothing"), ...[...app.data.groups.keys()].map((by) => option(by, visible(by))));
    select.addEventListener("change", () => {
        app.state.group = select.value;
        app.state.zoom = [];
        app.state.part = null;
        app.filtered(true);
    });
}
