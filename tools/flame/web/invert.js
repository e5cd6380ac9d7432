/* The inverted tree: the innermost functions next to the root, their callers above them. It grows where someone looks:
 * as a whole it would have a node for every node of every stack. */

class InvertedTree {
    constructor(tree) {
        this.base = tree;
        this.frame = [-1];
        this.parent = [-1];
        this.total = tree.total.map((total) => [total[0]]);
        this.self = tree.self.map((self) => [self[0]]);
        this.samples = tree.samples.map((samples) => [samples[0]]);
        this.grown = [];
        /* Of each node that has not grown: how much of it comes through which nodes of the base tree. */
        this.sources = [null];
        const groups = new Map(), first = tree.self[0], last = tree.self[tree.self.length - 1];
        for (let i = 1; i < tree.parent.length; i++)
            if (first[i] || last[i])
                this.add(groups, 0, i, tree.self, tree.ownSamples, i, false);
        this.finish(0, groups);
    }

    /* Node `source` of the base tree with weights[side][at] and as many samples. Sources that cannot come twice need not be looked up. */
    add(groups, above, source, weights, samples, at, again) {
        const frame = this.base.frame[source];
        let node = groups.get(frame);
        if (node === undefined) {
            node = this.frame.length;
            groups.set(frame, node);
            this.frame.push(frame);
            this.parent.push(above);
            this.total.forEach((total) => total.push(0));
            this.self.forEach((self) => self.push(0));
            this.samples.forEach((counts) => counts.push(0));
            this.sources.push({nodes: [], weights: weights.map(() => []), samples: weights.map(() => []), places: again ? new Map() : null});
        }
        const sources = this.sources[node];
        let place = again ? sources.places.get(source) : undefined;
        if (place === undefined) {
            place = sources.nodes.length;
            if (again)
                sources.places.set(source, place);
            sources.nodes.push(source);
            sources.weights.forEach((list) => list.push(0));
            sources.samples.forEach((list) => list.push(0));
        }
        for (let side = 0; side < weights.length; side++) {
            this.total[side][node] += weights[side][at];
            sources.weights[side][place] += weights[side][at];
            this.samples[side][node] += samples[side][at];
            sources.samples[side][place] += samples[side][at];
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
        const groups = new Map(), {nodes, weights, samples} = this.sources[node];
        for (let i = 0; i < nodes.length; i++) {
            const above = this.base.parent[nodes[i]];
            if (above > 0) {
                this.add(groups, node, above, weights, samples, i, true);
            } else {
                this.self.forEach((self, side) => self[node] += weights[side][i]);
            }
        }
        this.finish(node, groups);
        return this.grown[node];
    }
}
