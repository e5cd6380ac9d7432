/* Text for people. Names come from the profiled program and may hold anything: nothing of them ever becomes HTML. */

/* What turns text around, hides or breaks lines is shown as its number. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff9-\ufffb]/g;

function visible(text) {
    return text.replace(UNSAFE, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

const KIND_PSEUDO = 5, PSEUDO_MODULE = "not a function";
const KIND_NATIVE = 3; /* this and the next one */

function isNative(kind) {
    return kind === KIND_NATIVE || kind === KIND_NATIVE + 1;
}

/* Gives data.text (whole text of each frame), data.label (name only), and makes all strings safe to show. */
function prepareTexts(data) {
    const strings = data.strings.map(visible), frames = data.frames;
    data.strings = strings;
    data.label = frames.name.map((name) => strings[name]);
    data.place = frames.file.map((file, i) => {
        if (!file)
            return "";
        return frames.line[i] ? strings[file] + ":" + frames.line[i] : strings[file];
    });
    data.text = data.label.map((label, i) => data.place[i] ? label + " (" + data.place[i] + ")" : label);
    data.module = frames.module.map((module, i) => strings[module] || (frames.kind[i] === KIND_PSEUDO ? PSEUDO_MODULE : "unknown"));
    for (const process of data.processes)
        process.command = visible(process.command);
    for (const thread of data.threads)
        thread.name = visible(thread.name) || "thread";
    for (const side of data.sides)
        side.warnings = side.warnings.map(visible);
}

function short(text, most) {
    if (text.length <= most)
        return text;
    const last = text.charCodeAt(most - 2);
    return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 2 : most - 1) + "…";
}

function seconds(ns) {
    const s = ns / 1e9;
    if (s >= 100)
        return s.toFixed(0) + " s";
    if (s >= 1 || s === 0)
        return s.toFixed(2) + " s";
    if (s >= 0.001)
        return (s * 1000).toFixed(s >= 0.1 ? 0 : 1) + " ms";
    return (s * 1e6).toFixed(0) + " µs";
}

function percent(part, whole) {
    return whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "0.0 %";
}

/* A change in percentage points, with its sign, as text: colours alone do not tell. */
function change(points) {
    const text = (100 * Math.abs(points)).toFixed(1) + " %";
    return Math.abs(points) < 0.0005 ? "±0.0 %" : (points > 0 ? "+" : "−") + text;
}

function plural(count, one, many) {
    return count.toLocaleString("en") + " " + (count === 1 ? one : many || one + "s");
}

/* element("td", {className: "x"}, "text or node"...) */
function element(tag, properties, ...content) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...content);
    return made;
}
