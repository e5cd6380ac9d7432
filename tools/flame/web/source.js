/* The source lines of a Python function, with the CPU time of each, as `pyprof annotate` has them. */

const LINES_AROUND = 4;
const HOTTEST = 55; /* per cent of the heat's colour that the hottest line's background has */
const NO_SOURCE = {
    missing: "Its source was not here when this page was made.",
    newer: "Its source was changed after the profile began.",
    other: "Its source is not the one that ran.",
    read: "Its source is not in this page, which has that of the functions with most CPU time.",
};

/* Tabs stay: the carets below a line have them, too. */
function visibleLine(text) {
    return text.split("\t").map(visible).join("\t");
}

function prepareSources(data) {
    data.source.byPath = new Map(data.source.files.map((file) => [visible(file.path), file]));
    for (const file of data.source.files)
        for (const line of file.lines || [])
            line[3] = visibleLine(line[3]);
}

/* The file of a Python function; undefined if it is none, or too little of the CPU time. */
function sourceFile(data, frame) {
    const python = frame >= 0 && data.frames.kind[frame] < KIND_NATIVE;
    return python ? data.source.byPath.get(data.strings[data.frames.path[frame]]) : undefined;
}

/* Without what follows the function, and blank lines at the end: `last` is the last line that used CPU. */
function withoutNext(lines, last) {
    const indentation = (text) => text.search(/\S/), begin = lines.length ? indentation(lines[0][3]) : 0;
    const next = lines.findIndex(([number, , , text]) => number > last && /[^\s)\]}]/.test(text) && indentation(text) <= begin);
    const own = next < 0 ? lines : lines.slice(0, next);
    while (own.length && own[own.length - 1][0] > last && !own[own.length - 1][3].trim())
        own.pop();
    return own;
}

/* Lines [number, self ns, total ns, text] of a function, none if they are not here. With --lines the frame's line is one
 * of them. */
function sourceLines(data, frame) {
    const file = sourceFile(data, frame), line = data.frames.line[frame], functions = file?.functions || [];
    let first = 0, last = -1;
    for (let i = 0; i < functions.length; i += 2)
        if (functions[i] <= line && line <= functions[i + 1] && functions[i] >= first)
            [first, last] = [functions[i], Math.max(functions[i + 1], first === functions[i] ? last : 0)];
    return last < 0 ? [] : withoutNext(file.lines.filter(([number]) => number >= first && number <= last + LINES_AROUND), last);
}

/* Why there are no lines of a function; "" if there is nothing to say. */
function sourceNote(data, frame) {
    const python = frame >= 0 && data.frames.kind[frame] < KIND_NATIVE, path = python ? data.strings[data.frames.path[frame]] : "<";
    if (path.startsWith("<") || sourceLines(data, frame).length)
        return "";
    return NO_SOURCE[sourceFile(data, frame)?.state || "read"];
}

function sourceRow(app, line, carets, most) {
    const [number, self, total, text] = line, {source} = app.data, code = element("td", {className: "code"}, text || " ");
    for (const [at, marks, ns] of carets)
        if (at === number)
            code.append(element("span", {className: "carets"}, marks + (ns ? "  " + percent(ns, source.whole_ns) : "")));
    const figure = (ns) => element("td", {className: "figure", title: total ? seconds(ns) : ""}, total ? percent(ns, source.whole_ns) : "");
    const row = element("tr", {}, figure(self), figure(total), element("td", {className: "line"}, String(number)), code);
    row.style.setProperty("--heat", (most > 0 ? HOTTEST * total / most : 0).toFixed(1) + "%");
    return row;
}

function sourceHead(app, frame) {
    const {state, data} = app, chosen = choosesWho(state) || state.from >= 0;
    const close = element("button", {type: "button", title: "Close (l)", ariaLabel: "Close"}, "✕");
    close.addEventListener("click", () => toggleSource(app));
    return element("p", {className: "head"}, element("span", {}, element("b", {}, short(data.label[frame], 200)), " ",
        element("small", {}, short(data.strings[data.frames.path[frame]], 300) + (app.diff ? ", in the new profile" :
            chosen ? ", in the whole profile: not only in what is chosen above" : ""))), close);
}

/* Of the function that is marked, else of that which is zoomed. */
function showSource(app) {
    const {state, data} = app, frame = state.focus >= 0 ? state.focus : app.shown.frame[app.top];
    const box = document.getElementById("source"), lines = state.source ? sourceLines(data, frame) : [];
    document.getElementById("lines").setAttribute("aria-pressed", String(state.source));
    box.hidden = !lines.length;
    if (box.hidden)
        return;
    const most = lines.reduce((max, line) => Math.max(max, line[2]), 0), {carets} = sourceFile(data, frame), rows = [];
    let before = lines[0][0] - 1, hottest = null;
    for (const line of lines) {
        if (line[0] !== before + 1)
            rows.push(element("tr", {className: "gap"}, element("td", {colSpan: 4}, "…")));
        rows.push(sourceRow(app, line, carets, most));
        before = line[0];
        hottest = line[2] === most ? hottest || rows[rows.length - 1] : hottest;
    }
    const titles = [["Self", "With the C code it calls"], ["Total", "With all that it calls"], ["Line", ""], ["Source", ""]]
        .map(([name, title]) => element("th", {scope: "col", title}, name));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...titles)), element("tbody", {}, ...rows));
    const scroller = element("div", {className: "lines", tabIndex: 0}, table);
    box.replaceChildren(sourceHead(app, frame), scroller);
    scroller.scrollTop = hottest.offsetTop - scroller.clientHeight / 3;
}

function toggleSource(app) {
    app.state.source = !app.state.source;
    showSource(app);
    app.saveState(false);
}
