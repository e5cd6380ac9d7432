/* What ran, and the sums: above and below the graph. Gives the title. */

function showHeader(app) {
    const {sides, processes} = app.data, last = sides[sides.length - 1];
    const first = (side) => processes.filter((p) => p.side === side).sort((a, b) => a.start_ms - b.start_ms)[0];
    const command = first(sides.length - 1) ? first(sides.length - 1).command : "";
    /* The path of the interpreter is nothing that was typed. */
    const typed = (line) => line[0] === "'" ? line.replace(/^'[^']*\/([^'/]+)'/, "$1") : line.replace(/^[^\s]*\/(?=[^\s])/, "");
    const only = last.selection ? " (only " + last.selection + ")" : "";
    const title = (app.diff ? typed(command) + ", compared with " + typed(first(0).command) : typed(command) || "pyprof") + only;
    document.title = short(typed(command), 60) + short(only, 60) + " – pyprof";
    document.getElementById("title").textContent = short(title, 300);
    document.getElementById("title").title = short(command, 2000);
    const versions = [...new Set(sides.flatMap((side) => side.pythons))];
    const sum = (side) => {
        const wall = side.wall_ns / 1e9;
        return seconds(side.cpu_ns) + " CPU" + (wall > 0 ? " in " + wall.toFixed(1) + " s (" +
            (side.cpu_ns / 1e9 / wall).toFixed(2) + " cores busy)" : "") + ", " + plural(side.samples, "sample");
    };
    const own = processes.filter((p) => p.side === sides.length - 1).length;
    document.getElementById("summary").textContent = (app.diff ? "New " + sum(last) + "; base " + sum(sides[0]) :
        sum(last) + ", " + plural(own, "process", "processes") + ", " + plural(last.threads + last.exited_threads, "thread")) +
        (versions.length ? ", Python " + versions.map(visible).join(" and ") : "") +
        (last.start_ms > 0 && last.start_ms < 8e15 ? ", " + new Date(last.start_ms).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "");
    document.getElementById("accounting").replaceChildren(...sides.map((side, i) => element("span", {},
        (app.diff ? (i ? "New" : "Base") + ": " : "Accounting: ") + "sampled " + seconds(side.sampled_ns) + " + unsampled " +
        seconds(side.unsampled_ns) + " + lost " + seconds(side.lost_ns) + " + own " + seconds(side.own_ns) +
        " + thread exit " + seconds(side.thread_exit_ns) + " + difference " + (side.difference_ns < 0 ? "−" : "") +
        seconds(Math.abs(side.difference_ns)) + " = " + seconds(side.cpu_ns) + " CPU")));
    document.getElementById("warnings").append(...sides.flatMap((side, i) => side.warnings.map((text) =>
        element("li", {}, (app.diff ? (i ? "New: " : "Base: ") : "") + text + "."))));
    document.getElementById("warnings").append(...largeNotes(app.data).map((text) => element("li", {}, text + ".")));
    return title;
}
