/* The inverted tree: the innermost functions next to the root, their callers above them. It grows where someone looks:
 * as a whole it would have a node for every node of every stack. */

class InvertedTree {
    constructor(tree) {
        const sides = tree.self.length;
        this.base = tree;
        this.frame = [-1];
        this.parent = [-1];
        this.total = tree.total.map((total) => [total[0]]);
        this.self = tree.self.map((self) => [self[0]]);
        this.samples = [tree.samples[0]];
        this.ownSamples = [tree.ownSamples[0]];
        this.grown = [];
        /* Of each node: how much of it comes through which node of the base tree. */
        this.sources = [null];
        const groups = new Map();
        for (let i = 1; i < tree.parent.length; i++) {
            const weights = tree.self.map((self) => self[i]);
            if (weights[0] || weights[sides - 1])
                this.add(groups, 0, i, weights, tree.ownSamples[i]);
        }
        this.finish(0, groups);
    }

    add(groups, above, source, weights, samples) {
        const frame = this.base.frame[source];
        let node = groups.get(frame);
        if (node === undefined) {
            node = this.frame.length;
            groups.set(frame, node);
            this.frame.push(frame);
            this.parent.push(above);
            this.total.forEach((total) => total.push(0));
            this.self.forEach((self) => self.push(0));
            this.samples.push(0);
            this.ownSamples.push(0);
            this.sources.push(new Map());
        }
        this.total.forEach((total, side) => total[node] += weights[side]);
        this.samples[node] += samples;
        const sources = this.sources[node], known = sources.get(source);
        if (known) {
            weights.forEach((weight, side) => known.weights[side] += weight);
            known.samples += samples;
        } else {
            sources.set(source, {weights, samples});
        }
    }

    finish(node, groups) {
        const weight = this.total[this.total.length - 1], other = this.total[0];
        this.grown[node] = [...groups.values()].sort((a, b) => weight[b] - weight[a] || other[b] - other[a] || a - b);
        this.sources[node] = null;
    }

    children(node) {
        if (this.grown[node])
            return this.grown[node];
        const groups = new Map();
        for (const [source, {weights, samples}] of this.sources[node]) {
            const above = this.base.parent[source];
            if (above > 0) {
                this.add(groups, node, above, weights.slice(), samples);
            } else {
                weights.forEach((weight, side) => this.self[side][node] += weight);
                this.ownSamples[node] += samples;
            }
        }
        this.finish(node, groups);
        return this.grown[node];
    }
}
