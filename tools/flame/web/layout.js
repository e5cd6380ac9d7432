/* Where frames stand: row by row, the heaviest first, as far as they are wide enough to be seen. */

const ROW = 20;
const NARROWEST = 0.7; /* pixels; what is narrower is drawn as one block with its narrow siblings */

/* Rects of the subtree of `top`, which is as wide as all. Those of row r are rects[rowStart[r]] to rects[rowStart[r + 1]],
 * from left to right. A rect without a node (-1) stands for `hidden` narrow ones. */
function layOut(tree, top, width, side) {
    const weight = tree.total[side], scale = weight[top] > 0 ? width / weight[top] : 0;
    const node = [top], x = [0], w = [width], hidden = [0], rowStart = [0];
    let from = 0;
    while (from < node.length) {
        const to = node.length;
        rowStart.push(to);
        for (let i = from; i < to; i++) {
            if (node[i] < 0)
                continue;
            const children = tree.children(node[i]);
            let at = x[i], narrow = 0, narrowWidth = 0;
            for (const child of children) {
                const wide = weight[child] * scale;
                if (wide >= NARROWEST) {
                    node.push(child);
                    x.push(at);
                    w.push(wide);
                    hidden.push(0);
                    at += wide;
                } else if (wide > 0) {
                    narrow++;
                    narrowWidth += wide;
                }
            }
            if (narrowWidth >= NARROWEST) {
                node.push(-1);
                x.push(at);
                w.push(narrowWidth);
                hidden.push(narrow);
            }
        }
        from = to;
    }
    return {tree, top, side, width, node, x, w, hidden, rowStart, rows: rowStart.length - 1};
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
