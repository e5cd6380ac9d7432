/* The controls above the graph. */

/* As in tools/flame/flame.h: who is told apart in a page that would be too large otherwise. */
const DETAIL_ALL = 0, DETAIL_PROCESSES = 3;
const MERGED = ["", "CPU with and without the GIL", "threads of one name in a process", "the threads of a process",
    "processes and threads"];

/* What a large page does not tell. */
function largeNotes(data) {
    const notes = [];
    if (data.apart)
        notes.push("So many stacks that a time and a process, thread or GIL cannot be chosen together");
    if (data.detail > DETAIL_ALL)
        notes.push("So many stacks that " + MERGED[data.detail] + " are not told apart");
    if (notes.length)
        notes.push("pyprof flame --from, --to and --pid make a page of a part, which can tell more");
    return notes;
}

function option(value, text) {
    return element("option", {value}, short(text, 80));
}

/* CPU by any key of a cell's thread, for the order of choices. */
function cpuByThread(data) {
    const sums = new Float64Array(data.threads.length);
    for (let i = 0; i < data.cells; i++)
        if (data.cellKind[i] <= CELL_WHO)
            sums[(data.cellSlot[i] / 3) | 0] += data.cellNs[i];
    return sums;
}

function fillProcesses(app, cpu) {
    const {data} = app, sums = new Float64Array(data.processes.length), select = document.getElementById("process");
    data.threads.forEach((thread, i) => sums[thread.process] += cpu[i]);
    select.append(option("-1", "all " + data.processes.length));
    [...sums.keys()].sort((a, b) => sums[b] - sums[a]).forEach((i) => select.append(option(String(i),
        data.processes[i].pid + " – " + percent(sums[i], app.cpu) + " – " + data.processes[i].command)));
    document.getElementById("process-label").hidden = app.diff || data.processes.length < 2 || data.detail > DETAIL_PROCESSES;
}

function fillThreads(app, cpu) {
    const {data} = app, select = document.getElementById("thread"), names = new Map(), one = [];
    data.threads.forEach((thread, i) => {
        const sum = names.get(thread.name) || {cpu: 0, count: 0};
        sum.cpu += cpu[i];
        sum.count++;
        names.set(thread.name, sum);
        if (cpu[i] > 0)
            one.push(i);
    });
    const several = [...names].filter(([, sum]) => sum.cpu > 0 && (sum.count > 1 || app.diff));
    select.append(option("", "all " + (app.diff ? plural(several.length, "name") : one.length)));
    if (several.length) {
        const group = element("optgroup", {label: "All of one name"});
        for (const [name, sum] of several.sort((a, b) => b[1].cpu - a[1].cpu))
            group.append(option("n" + name, name + " – " + percent(sum.cpu, app.cpu) + " – " + plural(sum.count, "thread")));
        select.append(group);
    }
    if (!app.diff) {
        const group = element("optgroup", {label: "One thread"});
        for (const i of one.sort((a, b) => cpu[b] - cpu[a]).slice(0, 2000)) {
            const thread = data.threads[i], pid = data.processes.length > 1 ? " in " + data.processes[thread.process].pid : "";
            group.append(option("t" + i, thread.name + (thread.tid ? " (" + thread.tid + ")" : "") + pid + " – " +
                percent(cpu[i], app.cpu)));
        }
        select.append(group);
    }
    document.getElementById("thread-label").hidden = one.length < 2 || data.detail >= DETAIL_PROCESSES;
}

const SWITCHES = ["inverted", "flame"];

/* Makes the controls show the state, wherever it came from. */
function showControls(app) {
    const {state} = app;
    for (const id of ["process", "thread", "gil", "group", "colour", "width", "by"])
        document.getElementById(id).value = String(state[id]);
    for (const id of SWITCHES)
        document.getElementById(id).setAttribute("aria-pressed", String(state[id]));
    for (const level of [...NATIVE_LEVELS, OWN_CODE])
        document.getElementById("native-" + level).setAttribute("aria-pressed", String(state.native === level));
    const search = document.getElementById("search");
    if (document.activeElement !== search)
        search.value = state.search;
}

function bindControls(app) {
    const cpu = cpuByThread(app.data), get = (id) => document.getElementById(id);
    fillProcesses(app, cpu);
    fillThreads(app, cpu);
    fillGroups(app);
    get("gil-label").hidden = !app.data.cellSlot.some((slot) => slot % 3);
    get("width-label").hidden = !app.diff;
    get("by-label").hidden = !app.diff;
    get("colour-label").hidden = app.diff;
    for (const id of ["process", "gil", "thread", "width", "by"])
        get(id).addEventListener("change", () => {
            app.state[id] = typeof app.state[id] === "number" ? Number(get(id).value) : get(id).value;
            if (id !== "width" && id !== "by")
                keepApart(app.state, app.data, false);
            app.filtered(true);
        });
    get("colour").addEventListener("change", () => {
        app.state.colour = get("colour").value;
        app.recolour();
        app.saveState(false);
    });
    for (const id of SWITCHES)
        get(id).addEventListener("click", () => app.toggle(id));
    for (const level of NATIVE_LEVELS)
        get("native-" + level).addEventListener("click", () => app.showNative(level));
    get("native-own").addEventListener("click", () => app.showOwn());
    get("lines").addEventListener("click", () => toggleSource(app));
    get("search").addEventListener("input", () => app.find(get("search").value));
    get("search").addEventListener("keydown", (event) => {
        if (event.key === "Enter") {
            event.preventDefault();
            showMatch(app, event.shiftKey ? -1 : 1, true);
        } else if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            get("search").value = "";
            app.find("");
            get("graph").focus();
        }
    });
    get("next").addEventListener("click", () => showMatch(app, 1, true));
    get("reset").addEventListener("click", () => app.reset());
    get("save").addEventListener("click", () => saveSvg(app));
    const onFrame = (id, type, act) => get(id).addEventListener(type, (event) => {
        const inside = event.target.closest("[data-frame]");
        if (inside)
            act(Number(inside.dataset.frame));
    });
    onFrame("rows", "click", (frame) => app.focusOn(frame));
    onFrame("around", "click", (frame) => app.focusOn(frame));
    onFrame("rows", "dblclick", (frame) => app.zoomToFrame(frame));
}
