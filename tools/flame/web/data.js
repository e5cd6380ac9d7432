"use strict";
/* The profile as it comes with the page: base64 of a zlib stream of what tools/flame/encode.c describes. */

function fromBase64(text) {
    const plain = atob(text.replace(/\s+/g, ""));
    const bytes = new Uint8Array(plain.length);
    for (let i = 0; i < plain.length; i++)
        bytes[i] = plain.charCodeAt(i);
    return bytes;
}

async function inflate(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* A column of LEB128 numbers. Beyond 2^31 bits do not shift: they multiply. */
function readColumn(bytes, count, into) {
    let at = 0;
    for (let i = 0; i < count; i++) {
        let byte = bytes[at++], value = byte & 127, scale = 128;
        while (byte & 128) {
            byte = bytes[at++];
            value += (byte & 127) * scale;
            scale *= 128;
        }
        into[i] = value;
    }
    if (at !== bytes.length)
        throw new Error("a column has another length than it should");
    return into;
}

/* In the order of tools/model/request.h; "all" is the whole stacks. */
const FOLDED_LEVELS = ["libraries", "none", "own"];

function decode(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 4;
    const part = () => {
        const length = view.getUint32(at, true);
        at += 4 + length;
        return bytes.subarray(at - length, at);
    };
    if (String.fromCharCode(...bytes.subarray(0, 4)) !== "PYF1")
        throw new Error("this is no profile");
    const data = JSON.parse(new TextDecoder().decode(part()));
    const nodes = data.nodes, cells = data.cells;

    const up = readColumn(part(), nodes - 1, new Int32Array(nodes - 1));
    const frames = readColumn(part(), nodes - 1, new Int32Array(nodes - 1));
    data.parent = new Int32Array(nodes).fill(-1);
    data.frame = new Int32Array(nodes).fill(-1);
    for (let i = 1; i < nodes; i++) {
        data.parent[i] = i - up[i - 1];
        data.frame[i] = frames[i - 1];
    }

    data.cellNode = readColumn(part(), cells, new Int32Array(cells));
    for (let i = 1; i < cells; i++)
        data.cellNode[i] += data.cellNode[i - 1];
    data.cellSlot = readColumn(part(), cells, new Int32Array(cells));
    data.cellBucket = readColumn(part(), cells, new Int32Array(cells));
    data.cellCount = readColumn(part(), cells, new Float64Array(cells));
    data.cellNs = readColumn(part(), cells, new Float64Array(cells));
    const labels = part();
    data.cellLabels = labels.length ? readColumn(labels, cells, new Int32Array(cells)) : new Int32Array(cells);
    data.folded = {};
    for (const level of FOLDED_LEVELS) {
        const steps = readColumn(part(), nodes - 1, new Int32Array(nodes - 1)), folded = data.folded[level] = new Int32Array(nodes);
        for (let i = 1; i < nodes; i++)
            folded[i] = folded[i - 1] + (steps[i - 1] & 1 ? ~(steps[i - 1] >> 1) : steps[i - 1] >> 1);
    }
    const packages = readColumn(part(), nodes - 1, new Int32Array(nodes - 1));
    data.package = new Int32Array(nodes);
    for (let i = 1; i < nodes; i++)
        data.package[i] = packages[i - 1] ? packages[i - 1] - 1 : data.package[data.parent[i]];
    data.cellKind = cellKinds(data);
    data.busy = !data.apart || data.cellKind.includes(CELL_BUSY); /* whether it is known when someone was */
    return data;
}

async function readProfile() {
    const element = document.getElementById("data");
    const bytes = fromBase64(element.textContent);
    element.remove();
    return decode(await inflate(bytes));
}
