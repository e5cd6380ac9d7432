/* Draws a layout on a canvas. What a rect looks like is also what the SVG export asks for. */

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const LONGEST_LABEL = 400;

/* Shares of both sides of a comparison: it is normalised by CPU or by time. */
function sharesOf(app, node) {
    return app.shown.total.map((total, side) => app.bases[side] > 0 ? total[node] / app.bases[side] : 0);
}

/* Shares of a function in both sides, of its "self" time or its "total" over all stacks. */
function functionShares(app, frame, of) {
    return app.totals[of].map((ns, side) => app.bases[side] > 0 ? ns[frame] / app.bases[side] : 0);
}

function functionChange(app, frame) {
    const text = (of) => change(functionShares(app, frame, of)[1] - functionShares(app, frame, of)[0]);
    const {marks} = app, chance = marks[frame] ? "" : ", not more than chance";
    return text("self") + " self, " + text("total") + " total" + chance;
}

function isFound(app, node) {
    const frame = app.shown.frame[node];
    return app.matches !== null && frame >= 0 && app.matches[frame] === 1;
}

/* {fill, text, hatched, italic} of a node, -1 for a block of narrow ones. */
function looksOf(app, node) {
    const theme = app.theme, frame = node < 0 ? -1 : app.shown.frame[node];
    const kind = frame < 0 ? -1 : app.data.frames.kind[frame];
    const looks = {fill: theme.root, text: theme.text, hatched: kind === KIND_PSEUDO, italic: isNative(kind)};
    if (node < 0) {
        looks.fill = theme.faint;
        looks.narrow = true;
    } else if (isFound(app, node)) {
        looks.fill = theme.found;
        looks.text = theme.foundText;
        looks.hatched = false;
    } else if (app.matches) {
        looks.fill = theme.faint;
        looks.text = theme.faintText;
        looks.hatched = false;
    } else if (app.diff && frame >= 0) {
        looks.fill = app.marks[frame] ? changeColour(theme, ...functionShares(app, frame, CHANGED[app.marks[frame]])) :
            changeColour(theme, 1, 1);
    } else if (frame >= 0) {
        looks.fill = app.colours[frame];
    }
    return looks;
}

/* Long and short text of a node's rect. */
function labelsOf(app, node) {
    const frame = app.shown.frame[node], total = app.shown.total.map((side) => side[node]);
    let sign = "";
    if (app.diff && (frame >= 0 || app.state.by === "time")) {
        const [before, after] = sharesOf(app, node);
        sign = change(after - before) + "  ";
    }
    if (frame < 0) {
        const all = sign + "all " + seconds(total[app.side]);
        return [app.diff ? sign + "all " + seconds(total[1]) + ", base " + seconds(total[0]) : all, all, all];
    }
    const share = app.diff ? "" : "  " + percent(app.shown.total[0][node], app.shown.total[0][0]);
    return [short(sign + app.data.text[frame], LONGEST_LABEL) + share, short(sign + app.data.text[frame], LONGEST_LABEL),
        short(sign + app.data.label[frame], LONGEST_LABEL)];
}

/* The beginning of a text that fits, "" when too little of it would. */
function fitText(measure, text, room) {
    const full = measure(text);
    if (full <= room)
        return text;
    let length = Math.min(text.length, Math.ceil(text.length * room / full));
    for (; length > 1; length -= Math.max(1, length >> 4)) {
        const last = text.charCodeAt(length - 1);
        const cut = text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length) + "…";
        if (measure(cut) <= room)
            return cut;
    }
    return "";
}

function bestLabel(measure, app, node, room) {
    const labels = labelsOf(app, node);
    return labels.find((label) => measure(label) <= room) || fitText(measure, labels[2], room);
}

/* Tiles of a hatch; for frames that are too narrow of narrow lines. */
function hatchPattern(context, theme, narrow) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = narrow ? 3 : 6;
    const pen = tile.getContext("2d");
    pen.fillStyle = pen.strokeStyle = theme.hatch;
    if (narrow)
        pen.fillRect(0, 0, 1, 3);
    for (const at of narrow ? [] : [-6, 0, 6]) {
        pen.moveTo(at, 6);
        pen.lineTo(at + 6, 0);
    }
    pen.stroke();
    return context.createPattern(tile, "repeat");
}

/* Sizes a canvas to CSS pixels and gives a context in which these are the units. */
function prepareCanvas(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
        canvas.style.width = width + "px";
        canvas.style.height = height + "px";
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
}

/* `view`: {scroll, height, yOf(row)}. */
function paintGraph(app, canvas, view) {
    const layout = app.layout, context = prepareCanvas(canvas, layout.width, view.height);
    const hatch = hatchPattern(context, app.theme, false), narrow = hatchPattern(context, app.theme, true);
    const measure = (text) => context.measureText(text).width;
    context.textBaseline = "middle";
    context.direction = "ltr";
    for (let row = 0; row < layout.rows; row++) {
        const y = view.yOf(row) - view.scroll;
        if (y + ROW < 0 || y > view.height)
            continue;
        for (let i = layout.rowStart[row]; i < layout.rowStart[row + 1]; i++) {
            const node = layout.node[i], x = layout.x[i], w = layout.w[i], wide = w > 3 ? w - 1 : w;
            const looks = looksOf(app, node);
            context.fillStyle = looks.fill;
            context.fillRect(x, y, wide, ROW - 1);
            if ((looks.hatched || looks.narrow) && w > 2) {
                context.fillStyle = looks.narrow ? narrow : hatch;
                context.fillRect(x, y, wide, ROW - 1);
            }
            const seen = Math.max(0, x), room = Math.min(x + w, layout.width) - seen;
            if (node < 0 || room < 24)
                continue;
            context.font = (looks.italic ? "italic " : "") + FONT;
            const label = bestLabel(measure, app, node, room - 9);
            if (looks.hatched && label) {
                /* Letters on a hatch are hard to read. */
                context.fillStyle = looks.fill;
                context.fillRect(seen + 2, y + 2, Math.min(room - 5, measure(label) + 6), ROW - 5);
            }
            context.fillStyle = looks.text;
            context.fillText(label, seen + 4, y + ROW / 2);
        }
    }
    outline(app, context, view, app.hovered, 1);
    outline(app, context, view, app.active ? app.selected : -1, 2);
}

function outline(app, context, view, node, thickness) {
    const rect = node < 0 ? -1 : app.layout.node.indexOf(node);
    if (rect < 0)
        return;
    const y = view.yOf(rowOf(app.layout, rect)) - view.scroll, half = thickness / 2;
    context.strokeStyle = app.theme.ring;
    context.lineWidth = thickness;
    context.strokeRect(app.layout.x[rect] + half, y + half, Math.max(1, app.layout.w[rect] - thickness), ROW - 1 - thickness);
}
