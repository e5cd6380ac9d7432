/* How sure shares are, and whether two differ by more than chance: as in tools/view/uncertainty.c, which says why. It is
 * here again since no table can hold it for all that may be chosen in the page; tests/web/chance.py compares. */

const Z = 1.959964; /* of the normal distribution, for 95 % */
const ERROR_LEVEL = 0.05, FEWEST_SAMPLES = 6; /* tools/report/compare.c */
const MOST_STEPS = 100000, PRECISE = 1e-10;

/* The samples that shares of a side come from. What was measured is no draw. How unequal the samples' weights are is
 * taken from the whole profile. */
function drawsOf(data, tree, side) {
    let ns = tree.total[side][0];
    for (let i = 1; i < tree.parent.length; i++)
        if (tree.self[side][i] > 0 && !tree.ownSamples[side][i] && data.frames.kind[tree.frame[i]] === KIND_PSEUDO)
            ns -= tree.self[side][i];
    return {count: tree.samples[side][0], ns, spread: data.sides[side].spread};
}

/* A part of the samples, as if all were equal: x of n. */
function effective(draws, count, ns) {
    const rest = draws.count - count, share = draws.ns > 0 ? Math.min(1, ns / draws.ns) : 0;
    let n = draws.count / draws.spread;
    if (count > 0 && rest > 0 && share > 0 && share < 1)
        n = count * rest / (draws.spread * draws.count * share * (1 - share));
    return {x: share * n, n};
}

/* The 95 % interval of the share ns / whole, from 0 to 1; null without samples. */
function shareBounds(draws, count, ns, whole) {
    if (!count || !draws.count || !(draws.ns > 0) || !(whole > 0))
        return null;
    const {x, n} = effective(draws, count, ns), share = x / n, more = Z * Z / n, scale = draws.ns / whole / (1 + more);
    const centre = share + more / 2, half = Math.sqrt(more * (share * (1 - share) + more / 4));
    return [(centre - half) * scale, (centre + half) * scale];
}

/* The logarithm of the gamma function, by Lanczos' method. */
const LANCZOS = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

function logGamma(x) {
    const t = x + 6.5;
    const sum = LANCZOS.reduce((sum, term, i) => sum + (i ? term / (x - 1 + i) : term), 0);
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
function betaFraction(a, b, x) {
    let c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), product = d, factor = 0;
    for (let m = 1; m < MOST_STEPS && Math.abs(factor - 1) > PRECISE; m++) {
        const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        product *= d * c;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        factor = d * c;
        product *= factor;
    }
    return product;
}

/* The regularized incomplete beta function I_x(a, b). */
function betaBelow(a, b, x) {
    if (a <= 0 || x >= 1)
        return 1;
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * betaFraction(a, b, x) / a : 1 - front * betaFraction(b, a, 1 - x) / b;
}

/* The probability (two-sided) that shares differ as much as this, or more, by chance alone. */
function changeChance(draws, counts, ns) {
    const parts = draws.map((of, side) => effective(of, counts[side], ns[side]));
    const all = parts[0].n + parts[1].n, seen = parts[0].x + parts[1].x;
    if (!(parts[0].n > 0) || !(parts[1].n > 0) || !(seen > 0) || !(seen < all))
        return 1;
    const common = 1 - Math.min(seen, all - seen) / all, ratio = parts[0].n / all;
    const [first, second] = parts.map(({x, n}) => (seen > all / 2 ? n - x : x) / common);
    return Math.min(1, 2 * Math.min(betaBelow(second, first + 1, 1 - ratio), betaBelow(first, second + 1, ratio)));
}

/* Whether the intervals of both sides, in the unit of `bases`, have nothing in common. */
function areApart(app, counts, ns) {
    const [a, b] = app.draws.map((draws, side) => {
        const whole = app.wholes[side], bounds = shareBounds(draws, counts[side], ns[side], whole) || [0, Z * Z / draws.count];
        return bounds.map((bound) => bound * whole / app.bases[side]);
    });
    return a[1] < b[0] || b[1] < a[0];
}

/* By frame: what of it has changed by more than chance, its self time, else its total. With Holm's correction, whichever
 * are compared. */
const CHANGED = ["", "self", "total"];

function markChanges(app) {
    const {totals} = app, marks = new Uint8Array(totals.self[0].length), tests = [];
    const test = (frame, mark) => {
        const [counts, ns] = [totals.samples, totals].map((of) => of[CHANGED[mark]].map((side) => side[frame]));
        if (counts[0] + counts[1] >= FEWEST_SAMPLES)
            tests.push({frame, mark, counts, ns, chance: changeChance(app.draws, counts, ns)});
    };
    for (let i = 0; i < marks.length; i++) {
        test(i, 1);
        if (totals.total.some((total, side) => total[i] !== totals.self[side][i]))
            test(i, 2);
    }
    tests.sort((a, b) => a.chance - b.chance);
    for (let i = 0; i < tests.length && tests[i].chance * (tests.length - i) <= ERROR_LEVEL; i++) {
        const {frame, mark, counts, ns} = tests[i];
        if (marks[frame] !== 1 && (app.state.by !== "time" || areApart(app, counts, ns)))
            marks[frame] = mark;
    }
    return marks;
}
