/* Holds everything together: what was chosen becomes what is shown. */

class App {
    constructor(data) {
        prepareTexts(data);
        prepareSources(data);
        addGroups(data);
        data.ranks = rankModules(data);
        this.data = data;
        this.diff = data.sides.length > 1;
        this.forest = new Forest(data);
        this.cpu = data.cellNs.reduce((sum, ns, i) => (data.cellKind[i] <= CELL_WHO ? sum + ns : sum), 0);
        /* CPU time of each program without the library's own: what shares are of. */
        this.programs = data.sides.map((side) => side.selected || this.diff ? side.cpu_ns - side.own_ns : this.cpu);
        this.state = stateFromHash(location.hash, data);
        this.hovered = -1;
        this.selected = 0;
        this.active = false;
        this.matches = null;
        this.graph = new Graph(this);
        this.strip = new Strip(this);
        this.table = new Table(this);
        document.documentElement.classList.toggle("diff", this.diff);
        this.title = showHeader(this);
        bindControls(this);
        bindKeys(this, this.graph);
        this.bindTheme();
        window.addEventListener("popstate", () => {
            this.state = stateFromHash(location.hash, data);
            this.rebuild();
        });
        this.rebuild();
    }

    bindTheme() {
        const dark = matchMedia("(prefers-color-scheme: dark)");
        let chosen = null;
        try {
            chosen = localStorage.getItem("pyprof-theme");
        } catch { /* no storage here: the system's choice */ }
        this.system = dark;
        this.themeName = chosen === "dark" || chosen === "light" ? chosen : dark.matches ? "dark" : "light";
        dark.addEventListener("change", () => {
            this.themeName = dark.matches ? "dark" : "light";
            this.recolour();
        });
        document.getElementById("theme").addEventListener("click", () => this.switchTheme());
    }

    switchTheme() {
        this.themeName = this.themeName === "dark" ? "light" : "dark";
        try {
            if (this.themeName === (this.system.matches ? "dark" : "light"))
                localStorage.removeItem("pyprof-theme");
            else
                localStorage.setItem("pyprof-theme", this.themeName);
        } catch { /* then it lasts as long as the page */ }
        this.recolour();
    }

    say(text) {
        document.getElementById("status").textContent = text;
    }

    /* From the data: after a filter. */
    rebuild() {
        const {state} = this;
        this.tree = this.forest.tree(state);
        this.shown = state.inverted ? new InvertedTree(this.tree) : this.tree;
        this.side = this.diff ? state.width : 0;
        this.wholes = this.tree.total.map((total) => total[0]);
        /* What shares are of: a second of CPU in each second is the whole of one core. */
        this.bases = state.by === "time" ? this.data.sides.map((side) => side.wall_ns) : this.wholes;
        this.totals = functionTotals(this.data, this.tree, 0);
        this.draws = this.data.sides.map((side, i) => drawsOf(this.data, this.tree, i));
        this.marks = this.diff ? markChanges(this) : null;
        this.top = nodeAt(this.shown, state.zoom);
        this.selected = this.top;
        this.hovered = -1;
        this.graph.tip.hidden = true;
        showControls(this);
        match(this);
        this.recolour();
        this.graph.toRoot();
    }

    /* From the colours. */
    recolour() {
        document.documentElement.dataset.theme = this.themeName;
        this.theme = THEMES[this.themeName];
        this.colours = frameColours(this.data, this.theme, this.state.colour);
        this.strip.paint();
        this.relayout();
        this.table.show();
        showAround(this);
    }

    /* After zooming: what is drawn, and what says so. */
    relayout() {
        this.layOut();
        this.graph.box.style.setProperty("--rows", String(this.layout.rows));
        this.graph.tip.hidden = true;
        showLegend(this);
        showSource(this);
        this.crumbs();
        this.graph.announce();
        this.graph.later();
    }

    layOut() {
        this.layout = layOut(this.shown, this.top, Math.max(1, this.graph.width), this.side, this.state.part);
    }

    resized() {
        if (this.layout && this.layout.width !== this.graph.width) {
            this.strip.paint();
            this.layOut();
        }
        this.graph.resized();
    }

    chosenText() {
        const {state, data} = this, parts = data.sides.some((side) => side.selected) ? ["what was selected when this page was made"] : [];
        if (state.process >= 0)
            parts.push("process " + data.processes[state.process].pid);
        if (state.thread)
            parts.push("thread " + (state.thread[0] === "n" ? state.thread.slice(1) : data.threads[+state.thread.slice(1)].name));
        if (state.gil)
            parts.push(state.gil === 1 ? "GIL held" : "GIL not held");
        if (state.from >= 0)
            parts.push("an interval");
        if (!parts.length)
            return this.wholes[0] + this.wholes[this.wholes.length - 1] > 0 ? "" : "Nothing was sampled.";
        return "Shown: " + short(parts.join(", "), 200) + ", " + (this.diff ? percent(this.wholes[1], this.programs[1]) :
            seconds(this.wholes[0]) + ", " + percent(this.wholes[0], this.programs[0])) + " of the CPU time.";
    }

    /* Self and total of the functions within what is zoomed. */
    tableTotals() {
        if (!this.top)
            return this.totals;
        if (this.zoomed?.top !== this.top || this.zoomed.shown !== this.shown) {
            const {tree, state, shown, top, data} = this;
            const totals = state.inverted ? functionTotals(data, only(tree, callPath(shown, top)), 0) : functionTotals(data, tree, top);
            this.zoomed = {top, shown, totals};
        }
        return this.zoomed.totals;
    }

    crumbs() {
        const path = pathTo(this.shown, this.top), made = [], {shown, side, state} = this;
        const crumb = (node, text) => {
            const share = percent(shown.total[side][node], this.bases[side]), here = node === this.top && !state.part;
            const button = element("button", {type: "button", title: short(text, 500)}, short(text, 60));
            if (node)
                button.append(element("small", {}, share));
            if (here)
                button.setAttribute("aria-current", "true");
            button.addEventListener("click", () => this.zoom(node));
            return button;
        };
        made.push(crumb(0, "all"));
        /* The middle of a long way says little. */
        path.forEach((node, i) => {
            if (path.length > 7 && i === 2)
                made.push(element("span", {}, "… " + (path.length - 6) + " …"));
            if (path.length <= 7 || i < 2 || i >= path.length - 4)
                made.push(crumb(node, this.data.label[shown.frame[node]]));
        });
        if (state.part)
            made.push(element("span", {}, "a part, " + percent(state.part[1] - state.part[0], 1) + " of it"));
        document.getElementById("crumbs").replaceChildren(...made);
    }

    saveState(push) {
        const url = location.pathname + location.search + stateToHash(this.state, this.data);
        try {
            history[push ? "pushState" : "replaceState"](null, "", url);
        } catch { /* the page works without links to it */ }
    }

    filtered(done) {
        this.rebuild();
        if (done)
            this.saveState(false);
    }

    zoom(node) {
        this.top = this.selected = node;
        this.hovered = -1;
        this.state.zoom = pathTo(this.shown, node).map((n) => this.shown.frame[n]);
        this.state.part = null;
        this.saveState(true);
        this.relayout();
        this.table.show();
        this.graph.toRoot();
    }

    /* Zooms sideways: to a part of the width of what is zoomed. */
    zoomToPart(part, push) {
        const before = this.state.part || [0, 1];
        this.state.part = part[1] - part[0] >= 1 ? null : push ? [Math.max(0, part[0]), Math.min(1, part[1])] : part;
        if (before[0] === part[0] && before[1] === part[1])
            return;
        this.hovered = -1;
        this.saveState(push);
        this.relayout();
    }

    /* Turning things round keeps the search, not the place. */
    toggle(name) {
        this.state[name] = !this.state[name];
        if (name !== "flame") {
            this.state.zoom = [];
            this.state.part = null;
        }
        this.filtered(true);
    }

    showNative(level) {
        this.state.native = level;
        this.state.zoom = [];
        this.state.part = null;
        this.filtered(true);
    }

    showOwn() {
        this.showNative(this.state.native === OWN_CODE ? this.data.native : OWN_CODE);
    }

    find(text) {
        this.state.search = text;
        this.state.focus = -1;
        this.matched();
    }

    focusOn(frame) {
        this.state.focus = this.state.focus === frame ? -1 : frame;
        this.state.search = "";
        document.getElementById("search").value = "";
        this.matched();
        if (this.state.focus >= 0)
            showMatch(this, 1, false);
    }

    /* What is under the mouse, else the function that is marked, else what the keys have selected. */
    copy(stack) {
        const {shown, data, hovered, state, selected} = this, node = hovered > 0 ? hovered : selected;
        const marked = hovered <= 0 && !stack && state.focus >= 0;
        const path = pathTo(shown, node).map((n) => data.text[shown.frame[n]]);
        if (state.inverted)
            path.reverse();
        if (!marked && !path.length) {
            this.say("Nothing is selected: point at a function, then press c.");
            return;
        }
        const text = marked ? data.text[state.focus] : stack ? path.join("\n") : data.text[shown.frame[node]];
        copyText(text).then(() => this.say(stack ? "Copied a stack of " + plural(path.length, "frame") + "." :
            "Copied " + short(text, 120) + "."), () => this.say("The browser did not let the page copy."));
    }

    matched() {
        match(this);
        showLegend(this);
        this.table.show();
        showAround(this);
        showSource(this);
        this.strip.paint();
        this.graph.later();
        this.saveState(false);
    }

    zoomToFrame(frame) {
        this.state.focus = frame;
        this.matched();
        showMatch(this, 1, true);
        this.zoom(this.selected);
    }

    escape() {
        if (this.state.part)
            this.zoomToPart([0, 1], true);
        else if (this.top > 0)
            this.zoom(0);
        else if (this.matches) {
            document.getElementById("search").value = "";
            this.find("");
        }
    }

    reset() {
        this.state = firstState(this.data);
        document.getElementById("search").value = "";
        this.filtered(false);
        this.saveState(true);
    }
}

let app = null;
readProfile().then((data) => {
    app = new App(data);
    requestAnimationFrame(() => requestAnimationFrame(() => {
        performance.mark("painted");
        document.documentElement.dataset.ready = "yes";
    }));
}).catch((error) => {
    document.body.append(element("p", {className: "failure"}, "This page could not be shown: " + error.message +
        ". It needs a browser of 2023 or later."));
    document.documentElement.dataset.ready = "failed";
});
