/* Where frames stand: row by row, the heaviest first, as far as they are wide enough to be seen. */

const ROW = 20;
const EDGE = 4; /* pixels that a rect may go on beyond what is seen */
const NARROWEST = 0.7; /* pixels; what is narrower is drawn as one block with its narrow siblings */

/* Rects of the subtree of `top`; `part` of its width, from and to a fraction of it, is as wide as all. Those of row r are
 * rects[rowStart[r]] to rects[rowStart[r + 1]], from left to right, cut off a little outside of what is seen. A rect
 * without a node (-1) is `hidden` narrow ones together; `start` and `end` are fractions of the whole width. */
function layOut(tree, top, width, side, part) {
    const [left, right] = part || [0, 1], whole = width / (right - left), away = left * whole;
    const weight = tree.total[side], scale = weight[top] > 0 ? whole / weight[top] : 0;
    const node = [], x = [], w = [], start = [], end = [], hidden = [], rowStart = [0], at = [];
    const put = (which, from, wide, count) => {
        const first = Math.max(-EDGE, from - away), last = Math.min(width + EDGE, from + wide - away);
        if (last <= 0 || first >= width)
            return;
        node.push(which);
        at.push(from);
        x.push(first);
        w.push(last - first);
        start.push(from / whole);
        end.push((from + wide) / whole);
        hidden.push(count);
    };
    put(top, 0, whole, 0);
    let from = 0;
    while (from < node.length) {
        const to = node.length;
        rowStart.push(to);
        for (let i = from; i < to; i++) {
            if (node[i] < 0)
                continue;
            let next = at[i], narrow = 0, narrowWidth = 0;
            for (const child of tree.children(node[i])) {
                const wide = weight[child] * scale;
                if (wide >= NARROWEST) {
                    put(child, next, wide, 0);
                    next += wide;
                } else if (wide > 0) {
                    narrow++;
                    narrowWidth += wide;
                }
            }
            if (narrowWidth >= NARROWEST)
                put(-1, next, narrowWidth, narrow);
        }
        from = to;
    }
    return {tree, top, side, width, node, x, w, start, end, hidden, rowStart, rows: rowStart.length - 1};
}

/* Where a node lies in the width of `top`, as fractions. */
function placeOf(tree, top, node, side) {
    const weight = tree.total[side], wide = weight[node] / weight[top];
    let before = 0;
    for (; node !== top && node >= 0; node = tree.parent[node])
        for (const sibling of tree.children(tree.parent[node])) {
            if (sibling === node)
                break;
            before += weight[sibling] / weight[top];
        }
    return [before, Math.min(1, before + wide)];
}

/* The rect in a row at a pixel, -1 when there is none. */
function rectAt(layout, row, pixel) {
    if (row < 0 || row >= layout.rows)
        return -1;
    let low = layout.rowStart[row], high = layout.rowStart[row + 1] - 1;
    while (low <= high) {
        const middle = (low + high) >> 1;
        if (pixel < layout.x[middle])
            high = middle - 1;
        else if (pixel >= layout.x[middle] + layout.w[middle])
            low = middle + 1;
        else
            return middle;
    }
    return -1;
}

function rowOf(layout, rect) {
    let low = 0, high = layout.rows - 1;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (layout.rowStart[middle] <= rect)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* From the root to the node. */
function pathTo(tree, node) {
    const path = [];
    for (; node > 0; node = tree.parent[node])
        path.push(node);
    return path.reverse();
}

/* As far as the frames of a path lead. */
function nodeAt(tree, frames) {
    let node = 0;
    for (const frame of frames) {
        const child = tree.children(node).find((n) => tree.frame[n] === frame);
        if (child === undefined)
            break;
        node = child;
    }
    return node;
}
