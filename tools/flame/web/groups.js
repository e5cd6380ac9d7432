/* Whose CPU it was: the words of --by as groups of cells. */

const NO_GROUP = "(none)", LEFT_OUT = "[not selected]", PROCESS = "(process)", THREADS = "thread", PACKAGES = "package";

/* What is of the process as a whole is of no thread. */
function threadNames(data) {
    return data.threads.map((thread) => (thread.tid || thread.name !== PROCESS ? thread.name : ""));
}

/* For which CPU time counts, as tools/query/package.c has it. */
function packagesOfNodes(data) {
    return Array.from(data.package, (string) => data.strings[string]);
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
    add(PACKAGES, packagesOfNodes(data));
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
    const of = numbers(packagesOfNodes(data));
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
