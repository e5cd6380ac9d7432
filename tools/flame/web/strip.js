/* CPU over time, and the brush on it. */

const STRIP_HEIGHT = 46, STRIP_FOOT = 14;

/* CPU of each bucket over the chosen threads, and the part of it that matches. */
function bucketSums(app) {
    const data = app.data, slots = chosenSlots(data, app.state);
    const all = new Float64Array(data.buckets + 1), found = new Float64Array(data.buckets + 1);
    const kind = !data.apart ? CELL_ALL : choosesWho(app.state) ? CELL_BUSY : CELL_WHEN;
    const inside = app.found && kind !== CELL_BUSY ? app.found.inside : null, {cells} = app.forest.shape(app.state);
    for (let i = 0; i < data.cells; i++) {
        if (data.cellKind[i] !== kind || !slots[data.cellSlot[i]])
            continue;
        all[data.cellBucket[i]] += data.cellNs[i];
        if (inside && inside[cells[i]])
            found[data.cellBucket[i]] += data.cellNs[i];
    }
    return {all, found};
}

function niceStep(span, most) {
    const rough = span / most, power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) || 10 * power;
}

class Strip {
    constructor(app) {
        this.app = app;
        this.canvas = document.getElementById("strip");
        this.drag = null;
        const canvas = this.canvas;
        canvas.addEventListener("pointerdown", (event) => {
            canvas.setPointerCapture(event.pointerId);
            this.drag = {from: this.bucketAt(event), moved: false, x: event.clientX};
        });
        canvas.addEventListener("pointermove", (event) => {
            if (!this.drag || (!this.drag.moved && Math.abs(event.clientX - this.drag.x) < 3))
                return;
            this.drag.moved = true;
            const at = this.bucketAt(event);
            this.choose(Math.min(this.drag.from, at), Math.max(this.drag.from, at) + 1, false);
        });
        canvas.addEventListener("pointerup", (event) => {
            const drag = this.drag;
            this.drag = null;
            if (drag && drag.moved)
                this.choose(this.app.state.from, this.app.state.to, true);
            else if (drag)
                this.choose(-1, -1, true);
            event.preventDefault();
        });
        canvas.addEventListener("pointercancel", () => { this.drag = null; });
        document.getElementById("whole").addEventListener("click", () => this.choose(-1, -1, true));
        for (const id of ["from", "to"])
            document.getElementById(id).addEventListener("change", () => this.typed(id));
    }

    get shown() {
        const {data, state} = this.app;
        return data.buckets > 1 && (data.busy || !choosesWho(state));
    }

    bucketAt(event) {
        const box = this.canvas.getBoundingClientRect(), buckets = this.app.data.buckets;
        return Math.max(0, Math.min(buckets - 1, Math.floor((event.clientX - box.left) / box.width * buckets)));
    }

    /* One end that passes the other takes it along. */
    typed(id) {
        const width = this.app.data.bucket_ns / 1e9, buckets = this.app.data.buckets, since = this.app.data.since_ns / 1e9;
        const value = (field, otherwise) => {
            const text = document.getElementById(field).value;
            return text === "" ? otherwise : Math.max(0, Math.min(buckets, Math.round((Number(text) - since) / width)));
        };
        const {state} = this.app, wide = state.from < 0 ? 1 : state.to - state.from;
        let from = Math.min(value("from", 0), buckets - 1), to = Math.max(value("to", buckets), 1);
        if (to <= from && id === "from")
            to = Math.min(buckets, from + wide);
        else if (to <= from)
            from = Math.max(0, to - wide);
        this.choose(from, to, true);
        this.showEnds(); /* what was typed has become the nearest there is */
    }

    choose(from, to, done) {
        const whole = from <= 0 && to >= this.app.data.buckets;
        this.app.state.from = whole ? -1 : from;
        this.app.state.to = whole ? -1 : to;
        if (!whole)
            keepApart(this.app.state, this.app.data, true);
        this.app.filtered(done);
    }

    paint() {
        const {app, canvas} = this, {data, theme, state} = app;
        document.getElementById("time").hidden = !this.shown;
        if (!this.shown)
            return;
        const width = canvas.parentElement.clientWidth, high = STRIP_HEIGHT - STRIP_FOOT;
        const context = prepareCanvas(canvas, width, STRIP_HEIGHT), step = width / data.buckets;
        const {all, found} = bucketSums(app), most = Math.max(...all.subarray(0, data.buckets), 1);
        for (let i = 0; i < data.buckets; i++) {
            const inside = state.from < 0 || (i >= state.from && i < state.to), h = all[i] / most * (high - 2);
            context.fillStyle = inside ? theme.bar : theme.barOut;
            context.fillRect(i * step, high - h, Math.max(step - (step > 4 ? 1 : 0), 0.5), h);
            if (found[i] > 0) {
                const part = found[i] / most * (high - 2);
                context.fillStyle = theme.found;
                context.fillRect(i * step, high - part, Math.max(step - (step > 4 ? 1 : 0), 0.5), part);
            }
        }
        if (state.from >= 0) {
            context.fillStyle = theme.brush;
            context.fillRect(state.from * step, 0, (state.to - state.from) * step, high);
            context.fillStyle = theme.ring;
            context.fillRect(state.from * step - 1, 0, 2, high);
            context.fillRect(state.to * step - 1, 0, 2, high);
        }
        this.axis(context, width, high, most);
        this.fields(all);
    }

    axis(context, width, high, most) {
        const {data, theme} = this.app, span = data.bucket_ns / 1e9 * data.buckets, step = niceStep(span, width / 90);
        const since = data.since_ns / 1e9, cores = most / data.bucket_ns;
        /* A sample may weigh CPU of some ticks before its interval: what that adds is not of this time. */
        const rounded = data.cpus && cores < 1.1 * data.cpus ? Math.min(cores, data.cpus) : cores;
        this.peak = "peak " + (data.cpus ? rounded.toFixed(2) + " of " + data.cpus : cores.toFixed(2)) +
            " cores";
        context.fillStyle = theme.axis;
        context.font = FONT.replace("12px", "10px");
        context.textBaseline = "alphabetic";
        context.fillRect(0, high, width, 1);
        for (let at = Math.ceil(since / step) * step; at <= since + span; at += step) {
            const x = (at - since) / span * width, text = +at.toFixed(6) + " s";
            if (x + 140 > width)
                break;
            context.fillRect(x, high, 1, 3);
            context.fillText(text, x + 3, STRIP_HEIGHT - 2);
        }
        context.textAlign = "right";
        context.fillText(this.peak, width - 2, STRIP_HEIGHT - 2);
        context.textAlign = "left";
    }

    fields(all) {
        const {app} = this, {data, state} = app;
        if (!["from", "to"].includes(document.activeElement.id))
            this.showEnds();
        let chosen = 0;
        for (let i = Math.max(0, state.from); i < state.to; i++)
            chosen += all[i];
        document.getElementById("strip-note").textContent = state.from < 0 ?
            "CPU over time, known by " + (data.bucket_ns / 1e9).toFixed(1) + " s: drag to choose an interval" :
            "Chosen interval: " + seconds(chosen) + " CPU, " + percent(chosen, app.programs[0]) + " of all";
    }

    /* The ends of what is chosen, in seconds of the run, as --from and --to have them. */
    showEnds() {
        const {data, state} = this.app;
        const at = (bucket) => String(+((data.since_ns + bucket * data.bucket_ns) / 1e9).toFixed(2));
        document.getElementById("from").value = at(Math.max(0, state.from));
        document.getElementById("to").value = at(state.from < 0 ? data.buckets : state.to);
    }
}
