/* What the colours mean, with shares: itself an answer. */

function swatch(color, hatched) {
    const made = element("span", {className: "swatch" + (hatched === "narrow" ? " narrow" : hatched ? " hatched" : "")});
    made.style.backgroundColor = color;
    made.setAttribute("aria-hidden", "true");
    return made;
}

/* Self time by what `keyOf` says of a frame, the largest first. */
function sharesBy(app, keyOf) {
    const self = app.totals.self[app.side], sums = new Map();
    for (let i = 0; i < self.length; i++)
        if (self[i] > 0)
            sums.set(keyOf(i), (sums.get(keyOf(i)) || 0) + self[i]);
    return [...sums].sort((a, b) => b[1] - a[1]);
}

function showLegend(app) {
    const {data, theme} = app, whole = app.wholes[app.side], items = [];
    const item = (mark, text, share) => {
        const made = element("span", {className: "item"}, mark, text);
        made.setAttribute("role", "listitem");
        if (share !== undefined)
            made.append(" ", element("b", {}, percent(share, whole)));
        items.push(made);
    };
    if (app.matches)
        item(swatch(theme.found), "found");
    if (app.layout && app.layout.node.includes(-1))
        item(swatch(theme.faint, "narrow"), "too narrow: click to see them");
    if (app.diff) {
        item(swatch(changeColour(theme, 1, 0)), "− functions with less than in base");
        item(swatch(changeColour(theme, 1, 1)), "not more change than chance");
        item(swatch(changeColour(theme, 0, 1)), "+ functions with more than in base");
    } else if (app.state.colour === "module") {
        const frames = data.frames.kind, shares = sharesBy(app, (i) => data.module[i]);
        for (const [module, share] of shares.slice(0, 9)) {
            const frame = data.module.findIndex((name) => name === module);
            item(swatch(app.colours[frame], frames[frame] === KIND_PSEUDO), short(module, 40), share);
        }
        if (shares.length > 9)
            item("", plural(shares.length - 9, "other"));
    } else {
        const shares = new Map(sharesBy(app, (i) => data.frames.kind[i])), seen = new Set();
        app.totals.total[app.side].forEach((total, i) => total > 0 && seen.add(data.frames.kind[i]));
        KINDS.forEach((name, kind) => {
            if (!seen.has(kind))
                return;
            const text = kind < KIND_NATIVE ? "Python: " + name : name;
            item(swatch(theme.kinds[kind], kind === KIND_PSEUDO), isNative(kind) ? element("i", {}, "native: " +
                name.replace("native ", "")) : text, shares.get(kind) || 0);
        });
    }
    document.getElementById("legend").replaceChildren(...items);
}
