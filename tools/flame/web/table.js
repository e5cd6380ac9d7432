/* The functions, as a table: highlighted in the graph by a click. */

const TABLE_STEP = 200;

class Table {
    constructor(app) {
        this.app = app;
        this.limit = TABLE_STEP;
        this.body = document.getElementById("rows");
    }

    columns() {
        return this.app.diff ? [["change", "Change"], ["self", "Self new"], ["base", "Self base"], ["name", "Function"]] :
            [["self", "Self"], ["total", "Total"], ["name", "Function"]];
    }

    head() {
        const row = document.getElementById("columns"), sort = this.app.state.sort;
        row.replaceChildren(...this.columns().map(([key, title]) => {
            const on = sort === key;
            const button = element("button", {type: "button"}, title, element("span", {ariaHidden: "true"}, on ? " ▾" : ""));
            button.addEventListener("click", () => {
                this.app.state.sort = key;
                this.show();
                this.app.saveState(false);
                document.querySelector("#columns [aria-sort] button").focus();
            });
            const cell = element("th", {scope: "col", className: key === "name" ? "name" : "number"}, button);
            if (on)
                cell.setAttribute("aria-sort", key === "name" ? "ascending" : "descending");
            return cell;
        }));
    }

    /* Frame numbers in order. */
    order() {
        const {data, matches, state, diff} = this.app, totals = this.app.tableTotals(), last = totals.self.length - 1;
        const self = totals.self[last], total = totals.total[last];
        const share = (side, frame) => this.app.bases[side] > 0 ? totals.self[side][frame] / this.app.bases[side] : 0;
        const list = [];
        for (let i = 0; i < data.text.length; i++)
            if ((total[i] > 0 || totals.total[0][i] > 0) && (!state.search || !matches || matches[i]))
                list.push(i);
        const keys = {
            self: (i) => self[i], total: (i) => total[i], base: (i) => totals.self[0][i],
            change: (i) => diff ? Math.abs(share(1, i) - share(0, i)) : 0,
        };
        const key = keys[state.sort];
        if (key)
            list.sort((a, b) => key(b) - key(a) || self[b] - self[a] || total[b] - total[a] || a - b);
        else
            list.sort((a, b) => (data.text[a] < data.text[b] ? -1 : 1));
        return list;
    }

    number(part, side) {
        const {app} = this, whole = app.diff || !app.top ? app.bases[side] : app.shown.total[side][app.top];
        const title = app.top && !app.diff ? percent(part, app.bases[side]) + " of all" : "";
        return element("td", {className: "number", title}, element("b", {}, percent(part, whole)),
            element("small", {}, seconds(part)));
    }

    row(frame) {
        const {app} = this, {data, state, bases, diff} = app, totals = app.tableTotals(), last = totals.self.length - 1;
        const button = element("button", {type: "button", title: short(data.text[frame], 1000)}, short(data.label[frame], 200));
        button.dataset.frame = frame;
        button.setAttribute("aria-pressed", String(state.focus === frame));
        const name = element("td", {className: "name"}, button);
        if (data.place[frame])
            name.append(" ", element("small", {}, short(data.place[frame], 120)));
        const cells = [];
        if (diff) {
            const points = totals.self[1][frame] / (bases[1] || 1) - totals.self[0][frame] / (bases[0] || 1);
            cells.push(element("td", {className: "number" + (CHANGED[app.marks[frame]] === "self" ? "" : " chance"), title: functionChange(app, frame)}, element("b", {}, change(points))));
            cells.push(this.number(totals.self[1][frame], 1), this.number(totals.self[0][frame], 0));
        } else {
            cells.push(this.number(totals.self[last][frame], last));
            cells.push(this.number(totals.total[last][frame], last));
        }
        const row = element("tr", {className: "kind" + data.frames.kind[frame] + (state.focus === frame ? " chosen" : "")}, ...cells, name);
        row.dataset.frame = frame;
        /* A bar behind the first number: the eye finds the long one. */
        if (!diff)
            cells[0].style.backgroundSize = (90 * totals.self[0][frame] / this.most).toFixed(1) + "% 3px";
        return row;
    }

    /* What the table is of, if that is not all. */
    within() {
        const {app} = this, {shown, top, side} = app, text = document.getElementById("within");
        text.textContent = top ? "Within " + short(app.data.label[shown.frame[top]], 80) + ": " +
            seconds(shown.total[side][top]) + ", " + percent(shown.total[side][top], app.bases[side]) + " of all" : "";
    }

    show() {
        this.head();
        this.within();
        const totals = this.app.tableTotals();
        const order = this.order(), active = document.activeElement;
        const kept = active && this.body.contains(active) ? active.dataset.frame : undefined;
        this.most = order.reduce((most, frame) => Math.max(most, totals.self[0][frame]), 1);
        this.body.replaceChildren(...order.slice(0, this.limit).map((frame) => this.row(frame)));
        if (kept !== undefined) {
            const again = this.body.querySelector('button[data-frame="' + kept + '"]');
            if (again)
                again.focus();
        }
        const more = document.getElementById("more");
        more.replaceChildren();
        if (order.length > this.limit) {
            const button = element("button", {type: "button"}, "Show more");
            button.addEventListener("click", () => {
                this.limit += 5 * TABLE_STEP;
                this.show();
            });
            more.append(plural(order.length - this.limit, "more function"), " ", button);
        } else if (!order.length) {
            more.append("No function.");
        }
    }
}
