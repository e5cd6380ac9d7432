/* The graph as it is now, as an SVG file: what is chosen, zoomed and found in the page. tools/export/svg.c draws a whole
 * profile, without a browser. */

function escapeXml(text) {
    return text.replace(/[&<>"']/g, (c) => "&#" + c.charCodeAt(0) + ";")
        .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g, "\ufffd");
}

function svgText(app) {
    const {layout, shown, theme, data, side} = app, margin = 10, head = 58;
    const height = head + layout.rows * ROW + margin, width = layout.width + 2 * margin, whole = shown.total[side][0];
    const pen = document.createElement("canvas").getContext("2d"), out = [];
    const measure = (text) => pen.measureText(text).width;
    out.push('<?xml version="1.0" encoding="UTF-8"?>',
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
        ` font-family="system-ui, sans-serif" font-size="12">`,
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">' +
        `<path d="M-6 6L0 0M0 6L6 0M6 6L12 0" stroke="${theme.hatch}"/></pattern><pattern id="narrow" width="3" height="3"` +
        ` patternUnits="userSpaceOnUse"><path d="M0.5 0V3" stroke="${theme.hatch}"/></pattern></defs>`,
        `<rect width="100%" height="100%" fill="${theme.edge}"/>`,
        `<text x="${margin}" y="22" font-size="15" fill="${theme.text}">${escapeXml(short(app.title, 150))}</text>`,
        `<text x="${margin}" y="42" fill="${theme.axis}">${escapeXml(document.getElementById("summary").textContent)}</text>`);
    for (let row = 0; row < layout.rows; row++) {
        const y = head + (app.state.flame ? layout.rows - 1 - row : row) * ROW;
        for (let i = layout.rowStart[row]; i < layout.rowStart[row + 1]; i++) {
            const node = layout.node[i], looks = looksOf(app, node), w = layout.w[i];
            const box = `x="${(layout.x[i] + margin).toFixed(2)}" y="${y}" width="${(w > 3 ? w - 1 : w).toFixed(2)}" height="${ROW - 1}"`;
            const frame = node < 0 ? -1 : shown.frame[node];
            const text = node < 0 ? plural(layout.hidden[i], "narrow frame") : frame < 0 ? "all" : short(data.text[frame], 1000);
            const figures = node < 0 ? "" : "\n" + percent(shown.total[side][node], whole) + ", " + seconds(shown.total[side][node]);
            out.push(`<g><title>${escapeXml(text + figures)}</title><rect ${box} fill="${looks.fill}"/>`);
            if (looks.hatched || looks.narrow)
                out.push(`<rect ${box} fill="url(#${looks.narrow ? "narrow" : "hatch"})"/>`);
            pen.font = (looks.italic ? "italic " : "") + FONT;
            const label = node < 0 || w < 24 ? "" : bestLabel(measure, app, node, w - 9);
            if (label)
                out.push(`<text x="${(Math.max(0, layout.x[i]) + margin + 4).toFixed(2)}" y="${y + 14}" fill="${looks.text}"` +
                    `${looks.italic ? ' font-style="italic"' : ""}>${escapeXml(label)}</text>`);
            out.push("</g>");
        }
    }
    out.push("</svg>", "");
    return out.join("\n");
}

function saveSvg(app) {
    const url = URL.createObjectURL(new Blob([svgText(app)], {type: "image/svg+xml"}));
    const link = element("a", {href: url, download: "pyprof.svg"});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    app.say("Saved pyprof.svg.");
}
