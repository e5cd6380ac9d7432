/* Everything by keyboard. */

const KEYS = [
    ["← →", "to the siblings"],
    ["↓ ↑", "along the stack, as it is drawn"],
    ["Enter", "zoom in on the frame"],
    ["Backspace", "zoom out by one"],
    ["Esc", "zoom out, then end the search"],
    ["Home", "to the root"],
    ["/", "find; Enter goes to the next match, Shift+Enter back"],
    ["n", "native code: libraries, all, or none"],
    ["o", "own code only, on and off"],
    ["c C", "copy the function's name, or the stack"],
    ["+ −", "zoom in and out sideways, as Ctrl and the wheel; Shift and the wheel moves"],
    ["i", "inverted on and off"],
    ["l", "source lines on and off"],
    ["b", "root at the bottom or at the top"],
    ["h", "highlight this function everywhere"],
    ["s", "save as SVG"],
    ["d", "dark or light"],
    ["?", "this list"],
];

function moveSelection(app, graph, key) {
    const {shown, selected} = app;
    if (key === "ArrowLeft" || key === "ArrowRight") {
        const parent = shown.parent[selected];
        if (selected === app.top || parent < 0)
            return;
        const siblings = shown.children(parent), at = siblings.indexOf(selected) + (key === "ArrowRight" ? 1 : -1);
        if (at >= 0 && at < siblings.length)
            graph.select(siblings[at]);
        return;
    }
    if ((key === "ArrowDown") !== app.state.flame) {
        const children = shown.children(selected);
        if (children.length)
            graph.select(children[0]);
    } else if (selected !== app.top && shown.parent[selected] >= 0) {
        graph.select(shown.parent[selected]);
    }
}

function onGraphKey(app, graph, event) {
    const {shown} = app;
    if (event.key.startsWith("Arrow"))
        moveSelection(app, graph, event.key);
    else if (event.key === "Enter" || event.key === " ")
        app.zoom(app.selected);
    else if (event.key === "Backspace")
        app.zoom(Math.max(0, shown.parent[app.top]));
    else if (event.key === "Home")
        graph.select(app.top);
    else if (event.key === "h" && shown.frame[app.selected] >= 0)
        app.focusOn(shown.frame[app.selected]);
    else if (event.key === "+" || event.key === "-")
        graph.scale(event.key === "+" ? 0.5 : 2, 0.5);
    else
        return false;
    return true;
}

function onPageKey(app, event) {
    const actions = {
        "/": () => document.getElementById("search").select(),
        o: () => app.showOwn(),
        n: () => app.showNative(NATIVE_LEVELS[(NATIVE_LEVELS.indexOf(app.state.native) + 1) % NATIVE_LEVELS.length]),
        c: () => app.copy(false),
        C: () => app.copy(true),
        i: () => app.toggle("inverted"),
        b: () => app.toggle("flame"),
        l: () => toggleSource(app),
        s: () => saveSvg(app),
        d: () => app.switchTheme(),
        "?": () => document.getElementById("help").showModal(),
        Escape: () => app.escape(),
    };
    if (!actions[event.key])
        return false;
    app.graph.tip.hidden = true;
    actions[event.key]();
    return true;
}

function bindKeys(app, graph) {
    const list = document.getElementById("key-list"), help = document.getElementById("help");
    for (const [key, text] of KEYS)
        list.append(element("dt", {}, element("kbd", {}, key)), element("dd", {}, text));
    document.getElementById("help-open").addEventListener("click", () => help.showModal());
    graph.box.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey)
            return;
        app.active = true;
        if (onGraphKey(app, graph, event)) {
            event.preventDefault();
            event.stopPropagation();
        }
    });
    document.addEventListener("keydown", (event) => {
        const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
        if (typing || help.open || event.ctrlKey || event.metaKey || event.altKey)
            return;
        if (onPageKey(app, event))
            event.preventDefault();
    });
}
