/* Colours of frames. Each differs from its neighbours in lightness too, native names are in italics and what is no
 * function is hatched: no one needs to tell hues apart. */

/* By enum pt_kind. */
const KINDS = ["application", "installed packages", "standard library", "interpreter", "native libraries", "not a function"];

const THEMES = {
    light: {
        kinds: ["#5fa8dc", "#a3cdec", "#d5e7f5", "#fbe3bd", "#f0b05a", "#dcdcdf"],
        modules: ["#8ec1e6", "#f3c27c", "#a8d8b9", "#d9b8dc", "#f2e394", "#b9c3cf", "#f0b4a0", "#9fd6d8", "#cfd98f", "#c7bdf0"],
        text: "#14181d", faint: "#eceef1", faintText: "#5d666f", hatch: "#a9a9b0", edge: "#ffffff", found: "#9c1c74",
        foundText: "#ffffff", ring: "#0b3d66", bar: "#7fa9cb", barOut: "#cfd6dd", brush: "rgba(20,90,150,.13)",
        axis: "#5b646e", root: "#e3e6ea", more: [240, 150, 60], less: [80, 150, 215], same: [232, 234, 237],
    },
    dark: {
        kinds: ["#2a6ea8", "#2b5680", "#2a3f57", "#5a4726", "#8d5f1c", "#44474d"],
        modules: ["#2f6a99", "#86601f", "#2f6b4a", "#6b4070", "#6d6420", "#49525d", "#84493a", "#2b6a6d", "#56602a", "#544b85"],
        text: "#f2f4f7", faint: "#24272c", faintText: "#a3abb4", hatch: "#6d7178", edge: "#16181c", found: "#e27fc6",
        foundText: "#1a0513", ring: "#ffffff", bar: "#4d83b3", barOut: "#353a41", brush: "rgba(120,180,235,.18)",
        axis: "#9aa3ad", root: "#33373d", more: [160, 84, 18], less: [38, 104, 168], same: [52, 56, 62],
    },
};

/* Modules by self time in the whole profile, so that the heaviest differ, and that no filter changes their colours. */
function rankModules(data) {
    const sums = new Map();
    for (const module of data.module)
        sums.set(module, 0);
    for (let i = 0; i < data.cells; i++) {
        const frame = data.frame[data.cellNode[i]];
        if (frame >= 0 && data.cellKind[i] <= CELL_WHO)
            sums.set(data.module[frame], sums.get(data.module[frame]) + data.cellNs[i]);
    }
    const order = [...sums].filter(([module]) => module !== PSEUDO_MODULE).sort((a, b) => b[1] - a[1]);
    return new Map(order.map(([module], rank) => [module, rank]));
}

function mix(a, b, share) {
    return "rgb(" + a.map((v, i) => Math.round(v + (b[i] - v) * share)).join(",") + ")";
}

/* Changes of one in two show in full; small ones still differ from none. */
function changeColour(theme, before, after) {
    const sum = before + after;
    if (!sum)
        return mix(theme.same, theme.same, 0);
    const part = Math.max(-1, Math.min(1, 2.2 * (after - before) / sum));
    return mix(theme.same, part > 0 ? theme.more : theme.less, Math.sqrt(Math.abs(part)));
}

/* Colours of all frames as strings, by frame number. */
function frameColours(data, theme, by) {
    if (by === "module")
        return data.module.map((module, i) => data.frames.kind[i] === KIND_PSEUDO ? theme.kinds[KIND_PSEUDO] :
            theme.modules[data.ranks.get(module) % theme.modules.length]);
    return data.frames.kind.map((kind) => theme.kinds[kind]);
}
