/* The graph under mouse and finger: what is hovered, zoomed, scrolled; and what a screen reader is told of it. */

const READABLE = 12; /* pixels of a frame out of a group of narrow ones */
const NARROWEST_PART = 1e-9; /* of the width of what is zoomed */

class Graph {
    constructor(app) {
        this.app = app;
        this.box = document.getElementById("graph");
        this.canvas = document.getElementById("canvas");
        this.tip = document.getElementById("tip");
        this.item = 0;
        this.box.addEventListener("scroll", () => {
            this.atRoot = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 2;
            this.later();
        });
        this.box.addEventListener("mousemove", (event) => this.hover(event));
        this.box.addEventListener("mouseleave", () => this.leave());
        this.box.addEventListener("click", (event) => this.click(event));
        this.box.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
        this.box.addEventListener("focus", () => {
            app.active = this.box.matches(":focus-visible");
            this.announce();
            this.later();
        });
        this.box.addEventListener("blur", () => {
            app.active = false;
            this.leave();
        });
        new ResizeObserver(() => app.resized()).observe(this.box);
    }

    get width() {
        return this.box.clientWidth;
    }

    yOf(row) {
        return this.app.state.flame ? Math.max(this.app.layout.rows * ROW, this.box.clientHeight) - (row + 1) * ROW : row * ROW;
    }

    later() {
        if (this.waiting)
            return;
        this.waiting = requestAnimationFrame(() => this.paint());
    }

    paint() {
        this.waiting = 0;
        const height = this.box.clientHeight;
        this.makeRoom();
        paintGraph(this.app, this.canvas, {scroll: this.box.scrollTop, height, yOf: (row) => this.yOf(row)});
    }

    /* The canvas is as high as the box; below it is what there is to scroll. */
    makeRoom() {
        const rest = this.app.layout.rows * ROW - this.box.clientHeight;
        document.getElementById("spacer").style.height = Math.max(0, rest) + "px";
        this.canvas.style.height = this.box.clientHeight + "px";
    }

    toRoot() {
        this.makeRoom();
        this.box.scrollTop = this.app.state.flame ? this.box.scrollHeight : 0;
        this.atRoot = true;
    }

    /* A root at the bottom stays there when the box gets another height. */
    resized() {
        if (this.app.state.flame && this.atRoot)
            this.toRoot();
        this.paint();
    }

    rectUnder(event) {
        const box = this.box.getBoundingClientRect(), {layout, state} = this.app;
        const y = event.clientY - box.top + this.box.scrollTop;
        const row = state.flame ? Math.floor((Math.max(layout.rows * ROW, this.box.clientHeight) - y) / ROW) : Math.floor(y / ROW);
        return rectAt(layout, row, event.clientX - box.left);
    }

    hover(event) {
        const rect = this.rectUnder(event), node = rect < 0 ? -1 : this.app.layout.node[rect];
        this.box.style.cursor = node >= 0 ? "pointer" : "default";
        if (node !== this.app.hovered) {
            this.app.hovered = node;
            this.later();
        }
        if (rect < 0)
            this.tip.hidden = true;
        else
            this.showTip(rect, event.clientX, event.clientY);
    }

    leave() {
        this.tip.hidden = true;
        this.app.hovered = -1;
        this.later();
    }

    click(event) {
        const rect = this.rectUnder(event), {layout, state, top, shown} = this.app;
        if (rect < 0)
            return;
        const node = layout.node[rect];
        if (node < 0)
            this.openGroup(rect, event);
        else
            this.app.zoom(node === top && node > 0 && !state.part ? shown.parent[node] : node);
    }

    /* Zooms to narrow frames: to all of the group, or to as many around the pointer as have room. */
    openGroup(rect, event) {
        const {start, end, hidden} = this.app.layout, wide = end[rect] - start[rect];
        const part = wide * Math.min(1, this.width / (READABLE * hidden[rect]));
        const [from, to] = this.app.state.part || [0, 1];
        const at = from + (event.clientX - this.box.getBoundingClientRect().left) / this.width * (to - from);
        const first = Math.max(start[rect], Math.min(end[rect] - part, at - part / 2));
        this.app.zoomToPart([first, first + part], true);
    }

    /* With Ctrl, which is also what two fingers on a touchpad send, the wheel zooms; sideways it moves. */
    wheel(event) {
        const zooms = event.ctrlKey || event.metaKey, side = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
        if (!zooms && (!side || !this.app.state.part))
            return;
        event.preventDefault();
        const box = this.box.getBoundingClientRect();
        const lines = event.deltaMode ? 16 : 1;
        if (zooms)
            this.scale(Math.exp(event.deltaY * lines / 300), (event.clientX - box.left) / this.width);
        else
            this.move(side * lines / this.width);
    }

    /* What is seen becomes so many times as much, around a point of it. */
    scale(factor, at) {
        const [from, to] = this.app.state.part || [0, 1], wide = Math.min(1, Math.max(NARROWEST_PART, (to - from) * factor));
        const start = Math.max(0, Math.min(1 - wide, from + (to - from - wide) * at));
        this.app.zoomToPart([start, start + wide], false);
    }

    /* By a share of what is seen, to the right or the left. */
    move(share) {
        const [from, to] = this.app.state.part || [0, 1];
        const start = Math.max(0, Math.min(1 - (to - from), from + share * (to - from)));
        this.app.zoomToPart([start, start + to - from], false);
    }

    showTip(rect, x, y) {
        const node = this.app.layout.node[rect];
        if (node < 0)
            this.tip.replaceChildren(element("p", {}, plural(this.app.layout.hidden[rect], "frame"),
                " too narrow to be drawn: click to see them"));
        else
            this.tip.replaceChildren(...this.describe(node));
        this.tip.hidden = false;
        const box = this.tip.getBoundingClientRect(), page = document.documentElement;
        this.tip.style.left = Math.max(4, Math.min(x + 14, page.clientWidth - box.width - 6)) + "px";
        this.tip.style.top = Math.max(4, y + 18 + box.height > page.clientHeight ? y - box.height - 10 : y + 18) + "px";
    }

    describe(node) {
        const {shown, data, diff, state} = this.app, frame = shown.frame[node], parts = [];
        if (frame < 0)
            return [element("p", {className: "name"}, "all"), this.figures(node)];
        parts.push(element("p", {className: "name"}, short(data.label[frame], 400)));
        const kind = data.frames.kind[frame];
        let place = data.strings[data.frames.path[frame]] || data.place[frame];
        if (place && data.frames.line[frame])
            place += ":" + data.frames.line[frame];
        if (place)
            parts.push(element("p", {className: "place"}, short(place, 300)));
        if (kind !== KIND_PSEUDO)
            parts.push(element("p", {className: "place"}, (isNative(kind) ? "" : "Python, ") + KINDS[kind] +
                (data.module[frame] === KINDS[kind] ? "" : ": " + short(data.module[frame], 100))));
        parts.push(this.figures(node));
        if (state.inverted && !diff)
            parts.push(element("p", {className: "place"}, "Inverted: its callers are " + (state.flame ? "above" : "below")));
        return parts;
    }

    figures(node) {
        const {shown, diff, top, side} = this.app, list = element("dl", {});
        const line = (name, value) => list.append(element("dt", {}, name), element("dd", {}, value));
        if (diff) {
            const [before, after] = sharesOf(this.app, node);
            line("change here", change(after - before));
            const of = this.app.state.by === "time" ? " of a core, " : ", ";
            const frame = shown.frame[node];
            if (frame >= 0)
                line("function", functionChange(this.app, frame));
            line("new", percent(after, 1) + of + seconds(shown.total[1][node]));
            line("base", percent(before, 1) + of + seconds(shown.total[0][node]));
            return list;
        }
        line("total", seconds(shown.total[0][node]) + ", " + percent(shown.total[0][node], shown.total[0][0]));
        const bounds = shareBounds(this.app.draws[0], shown.samples[0][node], shown.total[0][node], shown.total[0][0]);
        if (bounds && node > 0)
            line("95 % range", bounds.map((bound) => (100 * bound).toFixed(1)).join("–") + " %");
        if (!this.app.state.inverted)
            line("self", seconds(shown.self[0][node]) + ", " + percent(shown.self[0][node], shown.total[0][0]));
        if (top > 0 && node !== top)
            line("of what is zoomed", percent(shown.total[side][node], shown.total[side][top]));
        if (shown.parent[node] > 0 && shown.parent[node] !== top)
            line(this.app.state.inverted ? "of its callee" : "of its caller",
                percent(shown.total[side][node], shown.total[side][shown.parent[node]]));
        if (this.app.wholes[0] < 0.999 * this.app.programs[0])
            line("of the program", percent(shown.total[0][node], this.app.programs[0]));
        line("samples", shown.samples[0][node].toLocaleString("en"));
        return list;
    }

    /* Zooms in to a node that is drawn nowhere, or too narrow to be seen. */
    reveal(node) {
        const {app} = this, rect = app.layout.node.indexOf(node);
        if (rect >= 0 && app.layout.w[rect] >= 3)
            return;
        const [from, to] = placeOf(app.shown, app.top, node, app.side), around = Math.min(1, Math.max(20 * (to - from), NARROWEST_PART));
        const start = Math.max(0, Math.min(1 - around, (from + to - around) / 2));
        app.zoomToPart([start, start + around], false);
    }

    /* The node under the keyboard: into view, and said. */
    select(node) {
        this.app.selected = node;
        this.reveal(node);
        const rect = this.app.layout.node.indexOf(node);
        if (rect >= 0) {
            const y = this.yOf(rowOf(this.app.layout, rect)), height = this.box.clientHeight;
            if (y < this.box.scrollTop)
                this.box.scrollTop = y;
            else if (y + ROW > this.box.scrollTop + height)
                this.box.scrollTop = y + ROW - height;
        }
        this.announce();
        this.later();
        if (rect >= 0 && this.app.active) {
            const box = this.box.getBoundingClientRect(), row = rowOf(this.app.layout, rect);
            const left = Math.max(0, this.app.layout.x[rect]);
            this.showTip(rect, box.left + left, box.top + this.yOf(row) - this.box.scrollTop + 4);
        }
    }

    /* Two elements by turns: a reader speaks when the active one changes. */
    announce() {
        const {app} = this, node = app.selected, {shown, data} = app, frame = shown.frame[node];
        const item = document.getElementById("item" + (this.item = 1 - this.item));
        const children = shown.children(node), text = frame < 0 ? "all" : short(data.text[frame], 300);
        const whole = shown.total[app.side][0];
        let said = text + ", total " + percent(shown.total[app.side][node], whole);
        if (!app.state.inverted)
            said += ", self " + percent(shown.self[app.side][node], whole);
        if (app.diff)
            said += ", change " + change(sharesOf(app, node)[1] - sharesOf(app, node)[0]);
        if (children.length)
            said += ", " + plural(children.length, app.state.inverted ? "caller" : "callee");
        item.textContent = said;
        item.setAttribute("aria-level", String(pathTo(shown, node).length + 1));
        item.setAttribute("aria-expanded", String(children.length > 0));
        const parent = shown.parent[node];
        if (parent >= 0) {
            const siblings = shown.children(parent);
            item.setAttribute("aria-setsize", String(siblings.length));
            item.setAttribute("aria-posinset", String(siblings.indexOf(node) + 1));
        }
        this.box.setAttribute("aria-activedescendant", item.id);
    }
}
