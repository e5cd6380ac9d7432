/* The page at "/": what runs now, and the flame graph of `pyprof flame` beside it. */
"use strict";

const NS = 1e9, STATUS_MS = 2000, RUNS_MS = 30000, MOST_RUNS = 10;
const at = (id) => document.getElementById(id);

function cell(text, number) {
    const made = document.createElement("td");
    made.textContent = text;
    made.title = text;
    if (number)
        made.className = "number";
    return made;
}

function row(...cells) {
    const made = document.createElement("tr");
    made.append(...cells);
    return made;
}

const seconds = (ns) => (ns / NS).toFixed(ns < 100 * NS ? 2 : 0) + " s";

async function read(path) {
    const answer = await fetch(path);
    if (!answer.ok)
        throw new Error((await answer.text()).trim());
    return answer.json();
}

function showStatus(status) {
    const cores = status.processes.reduce((sum, process) => sum + process.cores, 0);
    at("summary").textContent = `${status.directory}: ${status.running} ${status.running === 1 ? "process" : "processes"}, ${cores.toFixed(2)} cores busy, ` +
        `${status.samples} samples, ${status.lost_samples} lost; profiles take ${(status.disk_bytes / 1e6).toFixed(1)} MB`;
    at("processes").replaceChildren(...status.processes.sort((a, b) => b.cores - a.cores).map((process) =>
        row(cell(process.cores.toFixed(2), true), cell(seconds(process.cpu_ns), true), cell(process.pid, true),
            cell(process.paused ? "paused" : "sampled"), cell(process.cmdline))));
    const left = status.running - status.processes.length;
    at("more").textContent = left > 0 ? `and ${left} more` : "";
}

function showRuns(runs) {
    at("runs").replaceChildren(...runs.runs.slice(0, MOST_RUNS).map((run) =>
        row(cell(run.run.slice(0, 8)), cell(new Date(run.start_unix_ns / 1e6).toLocaleString()), cell(run.processes, true),
            cell(seconds(run.cpu_ns), true), cell(run.cmdline))));
}

/* Calls again and again, as long as the page is seen. */
function repeat(path, show, ms) {
    const once = async () => {
        try {
            if (!document.hidden)
                show(await read(path));
        } catch (error) {
            at("summary").textContent = error.message;
        }
        setTimeout(once, ms);
    };
    once();
}

/* What is chosen in the graph is in its address, and stays. */
function refresh() {
    const query = at("time").value, path = "/flame" + (query ? "?all&" + query : ""), frame = at("flame").contentWindow;
    at("alone").href = path;
    if (frame.location.pathname + frame.location.search === path)
        frame.location.reload();
    else
        frame.location.replace(path);
}

let timer = 0;
function setTimer() {
    const every = Number(at("every").value);
    clearInterval(timer);
    timer = every ? setInterval(() => document.hidden || refresh(), every * 1000) : 0;
}

at("refresh").addEventListener("click", refresh);
at("time").addEventListener("change", refresh);
at("every").addEventListener("change", setTimer);
repeat("/api/status.json", showStatus, STATUS_MS);
repeat("/api/runs.json", showRuns, RUNS_MS);
refresh();
setTimer();
