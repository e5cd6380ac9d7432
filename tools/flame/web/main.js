/* Holds everything together: what was chosen becomes what is shown. */

class App {
    constructor(data) {
        prepareTexts(data);
        addOutsideFrame(data);
        data.ranks = rankModules(data);
        this.data = data;
        this.diff = data.sides.length > 1;
        this.forest = new Forest(data);
        this.cpu = data.cellNs.reduce((sum, ns, i) => (data.cellKind[i] <= CELL_WHO ? sum + ns : sum), 0);
        this.programs = data.sides.map((side) => side.cpu_ns - side.own_ns);
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
        this.bases = state.by === "time" ? this.data.sides.map((side) => (side.end_ms - side.start_ms) * 1e6) : this.wholes;
        this.totals = functionTotals(this.data, this.tree);
        this.top = nodeAt(this.shown, state.zoom);
        this.selected = this.top;
        this.hovered = -1;
        showControls(this);
        this.match();
        this.recolour();
        this.graph.toRoot();
    }

    /* From the colours. */
    recolour() {
        document.documentElement.dataset.theme = this.themeName;
        this.theme = THEMES[this.themeName];
        this.colours = frameColours(this.data, this.theme, this.state.colour);
        showLegend(this);
        this.table.show();
        this.strip.paint();
        this.relayout();
    }

    relayout() {
        this.layout = layOut(this.shown, this.top, Math.max(1, this.graph.width), this.side);
        this.graph.box.style.setProperty("--rows", String(this.layout.rows));
        this.crumbs();
        this.graph.announce();
        this.graph.later();
    }

    resized() {
        if (this.layout && this.layout.width !== this.graph.width) {
            this.strip.paint();
            this.layout = layOut(this.shown, this.top, Math.max(1, this.graph.width), this.side);
        }
        this.graph.resized();
    }

    /* Names hold parentheses and braces: what is no regular expression is looked for as it is, if it is there. */
    searchTest(search) {
        const {text} = this.data;
        try {
            const regex = new RegExp(search, "i");
            return (i) => regex.test(text[i]);
        } catch {
            const plain = search.toLowerCase(), contains = (i) => text[i].toLowerCase().includes(plain);
            return text.some((_, i) => contains(i)) ? contains : null;
        }
    }

    /* Finds out which frames match, and what they come to. */
    match() {
        const {state, data} = this;
        const input = document.getElementById("search");
        let test = null;
        input.removeAttribute("aria-invalid");
        if (state.search) {
            test = this.searchTest(state.search);
            if (!test) {
                input.setAttribute("aria-invalid", "true");
                this.matches = this.found = null;
                this.say("This is no regular expression yet.");
                return;
            }
        } else if (state.focus >= 0) {
            test = (i) => i === state.focus;
        }
        this.matches = this.found = null;
        this.matchList = null;
        if (!test) {
            this.say(this.chosenText());
            return;
        }
        this.matches = Uint8Array.from(data.text, (text, i) => (test(i) ? 1 : 0));
        this.found = matchedNodes(this.tree, this.matches);
        let functions = 0;
        for (let i = 0; i < this.matches.length; i++)
            functions += this.matches[i] && this.totals.total.some((total) => total[i] > 0) ? 1 : 0;
        const what = state.search ? plural(functions, "function") + (functions === 1 ? " matches" : " match") :
            short(data.text[state.focus], 200);
        const shares = this.found.sums.map((sum, side) => percent(sum, this.bases[side]));
        this.say(what + ": " + (this.diff ? shares[1] + (state.by === "time" ? " of a core, " : " of the CPU time, ") +
            shares[0] + " in base" :
            shares[0] + " of the CPU time (" + seconds(this.found.sums[0]) + ")") + " with all they call.");
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

    crumbs() {
        const path = pathTo(this.shown, this.top), made = [];
        const crumb = (node, text) => {
            const button = element("button", {type: "button", title: short(text, 500)}, short(text, 60));
            if (node === this.top)
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
                made.push(crumb(node, this.data.label[this.shown.frame[node]]));
        });
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
        this.saveState(true);
        this.relayout();
        this.graph.toRoot();
    }

    /* Turning things round keeps the search, not the place. */
    toggle(name) {
        this.state[name] = !this.state[name];
        if (name !== "flame")
            this.state.zoom = [];
        this.filtered(true);
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
    }

    matched() {
        this.match();
        showLegend(this);
        this.table.show();
        this.strip.paint();
        this.graph.later();
        this.saveState(false);
    }

    /* Nodes that match, the widest first: all there are in what is zoomed, without those within another. */
    nextMatch(step) {
        if (!this.matches)
            return;
        if (!this.matchList || this.matchList.top !== this.top || this.matchList.shown !== this.shown) {
            const nodes = [], open = [this.top];
            while (open.length && nodes.length < 10000) {
                const node = open.pop();
                if (this.shown.frame[node] >= 0 && this.matches[this.shown.frame[node]])
                    nodes.push(node);
                else if (this.shown.total[this.side][node] >= this.shown.total[this.side][this.top] / 10000)
                    open.push(...this.shown.children(node));
            }
            nodes.sort((a, b) => this.shown.total[this.side][b] - this.shown.total[this.side][a]);
            this.matchList = {nodes, at: step > 0 ? -1 : 0, top: this.top, shown: this.shown};
        }
        const {nodes} = this.matchList;
        if (!nodes.length)
            return;
        this.matchList.at = (this.matchList.at + step + nodes.length) % nodes.length;
        this.active = true;
        this.graph.select(nodes[this.matchList.at]);
        this.say("Match " + (this.matchList.at + 1) + " of " + nodes.length + ": " +
            document.getElementById("item" + this.graph.item).textContent + ".");
    }

    zoomToFrame(frame) {
        this.state.focus = frame;
        this.matched();
        this.nextMatch(1);
        this.zoom(this.selected);
    }

    escape() {
        if (this.top > 0)
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
