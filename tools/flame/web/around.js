/* Callers and callees of the function that is marked. */

const MOST_AROUND = 10; /* rows of each */

/* What of a function's CPU time came through each of its callers (-1: none), and went to each of its callees with all that
 * they call; what is within another call of the function counts once. */
function aroundOf(tree, side, frame) {
    const total = tree.total[side], depth = new Int32Array(tree.parent.length), callers = new Map(), callees = new Map();
    const add = (map, key, ns) => map.set(key, (map.get(key) || 0) + ns);
    let whole = 0, self = 0;
    for (let i = 1; i < tree.parent.length; i++) {
        const parent = tree.parent[i], own = tree.frame[i] === frame;
        depth[i] = depth[parent] + (own ? 1 : 0);
        if (own) {
            self += tree.self[side][i];
            if (depth[i] === 1) {
                whole += total[i];
                add(callers, tree.frame[parent], total[i]);
            }
        } else if (tree.frame[parent] === frame && total[i] > 0) {
            let at = parent;
            while (depth[at] && tree.frame[at] !== tree.frame[i])
                at = tree.parent[at];
            if (!depth[at])
                add(callees, tree.frame[i], total[i]);
        }
    }
    const sorted = (map) => [...map].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
    return {whole, self, callers: sorted(callers), callees: sorted(callees)};
}

function aroundList(app, title, list, whole) {
    const items = list.slice(0, MOST_AROUND).map(([frame, ns]) => {
        const name = frame < 0 ? "(nothing: the stack begins here)" : short(app.data.label[frame], 200);
        const button = element("button", {type: "button", disabled: frame < 0, title: frame < 0 ? "" : short(app.data.text[frame], 1000)}, name);
        if (frame >= 0)
            button.dataset.frame = frame;
        return element("li", {}, element("b", {}, percent(ns, whole)), button, element("small", {}, seconds(ns)));
    });
    if (list.length > MOST_AROUND)
        items.push(element("li", {}, "and " + (list.length - MOST_AROUND) + " more"));
    if (!items.length)
        items.push(element("li", {}, "none"));
    return element("section", {}, element("h2", {}, title), element("ul", {}, ...items));
}

function showAround(app) {
    const box = document.getElementById("around"), frame = app.state.focus;
    box.hidden = frame < 0;
    if (frame < 0)
        return;
    const {whole, self, callers, callees} = aroundOf(app.tree, app.side, frame);
    const close = element("button", {type: "button", title: "Close", ariaLabel: "Close"}, "✕");
    close.addEventListener("click", () => app.focusOn(frame));
    box.replaceChildren(element("p", {className: "head"}, element("b", {}, short(app.data.label[frame], 200)), close),
        element("p", {}, seconds(whole) + ", " + percent(whole, app.bases[app.side]) + "; itself " + percent(self, whole) + " of that"),
        element("p", {}, element("small", {}, sourceNote(app.data, frame))),
        aroundList(app, "Called by", callers, whole), aroundList(app, "Calls", callees, whole));
}
