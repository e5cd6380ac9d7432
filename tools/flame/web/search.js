/* Which functions match what is searched or marked, and where they are. */

/* Names hold parentheses and braces: what is no regular expression is searched as it is. */
function searchTest(data, search) {
    try {
        const regex = new RegExp(search, "i");
        return {test: (i) => regex.test(data.text[i]), plain: false};
    } catch {
        const plain = search.toLowerCase();
        return {test: (i) => data.text[i].toLowerCase().includes(plain), plain: true};
    }
}

/* Finds out which frames match, and what they come to. */
function match(app) {
    const {state, data} = app, marked = state.focus >= 0 && !state.search;
    app.matches = app.found = app.matchList = null;
    document.getElementById("search").removeAttribute("aria-invalid");
    if (!state.search && !marked) {
        app.say(app.chosenText());
        return;
    }
    const {test, plain} = marked ? {test: (i) => i === state.focus, plain: false} : searchTest(data, state.search);
    app.matches = Uint8Array.from(data.text, (text, i) => (test(i) ? 1 : 0));
    app.found = matchedNodes(app.tree, app.matches);
    let functions = 0;
    for (let i = 0; i < app.matches.length; i++)
        functions += app.matches[i] && app.totals.total.some((total) => total[i] > 0) ? 1 : 0;
    if (plain && !functions)
        document.getElementById("search").setAttribute("aria-invalid", "true");
    const one = functions === 1, text = plain ? " contain" + (one ? "s " : " ") + "the text, which is no regular expression" :
        one ? " matches" : " match";
    const what = marked ? short(data.text[state.focus], 200) : plural(functions, "function") + text;
    const shares = app.found.sums.map((sum, side) => percent(sum, app.bases[side]));
    app.say(what + ": " + (app.diff ? shares[1] + (state.by === "time" ? " of a core, " : " of the CPU time, ") + shares[0] + " in base" :
        shares[0] + " of the CPU time (" + seconds(app.found.sums[0]) + ")") + ", with all that " +
        (marked || one ? "it calls." : "they call."));
}

/* Nodes that match, the widest first: all there are in what is zoomed, without those within another. */
function matchList(app, step) {
    if (app.matchList && app.matchList.top === app.top && app.matchList.shown === app.shown)
        return app.matchList;
    const nodes = [], open = [app.top], {shown, side, top} = app;
    while (open.length && nodes.length < 10000) {
        const node = open.pop();
        if (shown.frame[node] >= 0 && app.matches[shown.frame[node]])
            nodes.push(node);
        else if (shown.total[side][node] >= shown.total[side][top] / 10000)
            open.push(...shown.children(node));
    }
    nodes.sort((a, b) => shown.total[side][b] - shown.total[side][a]);
    app.matchList = {nodes, at: step > 0 ? -1 : 0, top, shown};
    return app.matchList;
}

/* Brings the next match into view; by keys it is also said. */
function showMatch(app, step, byKeys) {
    if (!app.matches)
        return;
    const list = matchList(app, step), {nodes} = list;
    if (!nodes.length)
        return;
    list.at = (list.at + step + nodes.length) % nodes.length;
    app.active = byKeys;
    app.graph.select(nodes[list.at]);
    if (byKeys)
        app.say("Match " + (list.at + 1) + " of " + nodes.length + ": " +
            document.getElementById("item" + app.graph.item).textContent + ".");
}

/* A page that is opened from a file may have no clipboard but the old way. */
async function copyText(text) {
    if (navigator.clipboard)
        try {
            return await navigator.clipboard.writeText(text);
        } catch { /* the other way */ }
    const area = element("textarea", {value: text, className: "unseen"}), active = document.activeElement;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    active.focus();
    if (!copied)
        throw new Error("not copied");
}
