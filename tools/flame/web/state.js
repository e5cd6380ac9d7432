/* What someone looks at, kept in the address, so that a link shows the same. */

const NATIVE_LEVELS = ["none", "libraries", "all"];
const OWN_CODE = "own"; /* in place of a level: without code of others, Python or native */
const PARTS = 1e12; /* a part of what is zoomed is from and to so many of its parts */

function firstState(data) {
    const diff = data.sides.length > 1;
    return {zoom: [], group: data.groups.has(data.group) ? data.group : "", search: "", focus: -1, process: -1, thread: "", gil: 0, from: -1, to: -1, native: data.native, inverted: false,
        flame: false, source: true, part: null, colour: "kind", sort: diff ? "change" : "self", width: 1, by: data.by};
}

function choosesWho(state) {
    return state.process >= 0 || state.thread !== "" || state.gil > 0;
}

/* In a large page someone and a time cannot be chosen together: what was chosen last stays. */
function keepApart(state, data, time) {
    if (!data.apart || !choosesWho(state) || state.from < 0)
        return;
    const first = firstState(data);
    for (const key of time ? ["process", "thread", "gil"] : ["from", "to"])
        state[key] = first[key];
}

function stateToHash(state, data) {
    const first = firstState(data), parts = new URLSearchParams();
    const put = (key, value, unless) => {
        if (value !== unless)
            parts.set(key, value);
    };
    put("z", state.zoom.join("."), "");
    put("y", state.group, first.group);
    put("q", state.search, "");
    put("f", state.focus, first.focus);
    put("p", state.process, first.process);
    put("t", state.thread, "");
    put("g", state.gil, first.gil);
    put("i", state.from + "-" + state.to, "-1--1");
    put("n", state.native, first.native);
    put("x", state.part ? state.part.map((at) => Math.round(at * PARTS)).join("-") : "", "");
    put("v", (state.inverted ? "i" : "") + (state.flame ? "b" : ""), "");
    put("s", state.source ? "" : "0", "");
    put("c", state.colour, first.colour);
    put("o", state.sort, first.sort);
    put("w", state.width, first.width);
    put("b", state.by, first.by);
    const text = parts.toString();
    return text ? "#" + text : "";
}

/* A link may be from another profile, or from anyone: what does not fit is left out. */
function stateFromHash(hash, data) {
    const state = firstState(data), parts = new URLSearchParams(hash.replace(/^#/, ""));
    const number = (key, from, to, otherwise) => {
        const value = parts.get(key);
        return /^\d{1,9}$/.test(value || "") && +value >= from && +value < to ? +value : otherwise;
    };
    const frames = data.frames.kind.length;
    state.zoom = (parts.get("z") || "").split(".").filter((n) => /^\d{1,9}$/.test(n) && +n < frames).map(Number);
    if (parts.has("y") && (!parts.get("y") || data.groups.has(parts.get("y"))))
        state.group = parts.get("y");
    state.search = parts.get("q") || "";
    state.focus = number("f", 0, frames, -1);
    state.process = number("p", 0, data.processes.length, -1);
    state.thread = parts.get("t") || "";
    if (!data.threads.some((thread, i) => state.thread === "t" + i || state.thread === "n" + thread.name))
        state.thread = "";
    state.gil = number("g", 0, 3, 0);
    const range = /^(\d{1,6})-(\d{1,6})$/.exec(parts.get("i") || "");
    if (range && +range[1] < +range[2] && +range[2] <= data.buckets)
        [state.from, state.to] = [+range[1], +range[2]];
    keepApart(state, data, true);
    const view = parts.get("v") || "";
    if (parts.get("n") === OWN_CODE || NATIVE_LEVELS.includes(parts.get("n")))
        state.native = parts.get("n");
    const part = /^(\d{1,13})-(\d{1,13})$/.exec(parts.get("x") || "");
    if (part && +part[1] < +part[2] && +part[2] <= PARTS)
        state.part = [part[1] / PARTS, part[2] / PARTS];
    state.inverted = view.includes("i");
    state.flame = view.includes("b");
    state.source = parts.get("s") !== "0";
    state.colour = parts.get("c") === "module" ? "module" : "kind";
    const sorts = data.sides.length > 1 ? ["change", "self", "base", "name"] : ["self", "total", "name"];
    state.sort = sorts.includes(parts.get("o")) ? parts.get("o") : sorts[0];
    state.width = number("w", 0, 2, 1);
    state.by = ["cpu", "time"].includes(parts.get("b")) ? parts.get("b") : state.by;
    return state;
}
