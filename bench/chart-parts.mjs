// The elements of pictures, and the colors and sizes that all of them have in common.

/** The width of a picture, and its margin on the left and on the right. */
export const [WIDTH, EDGE] = [840, 20];

/** Of a page, for light and for dark. */
export const PAGE_COLORS = {
  light: { page: '#ffffff', edge: '#d1d9e0', text: '#1f2328', soft: '#59636e' },
  dark: { page: '#0d1117', edge: '#3d444d', text: '#f0f6fc', soft: '#9198a1' },
};

/** Two colors that differ also for people with a color blindness. */
export const INKS = {
  light: { blue: '#0969da', orange: '#d55e00' },
  dark: { blue: '#2f81f7', orange: '#f0803c' },
};

/**
 * @param colors two sets of colors: other names than those of the page become classes
 * @param moreStyle further lines of style, for a set of colors
 */
export function svg(height, title, parts, colors, moreStyle = () => []) {
  const [light, dark] = [colors.light, colors.dark].map((set) =>
    [...styleOf(set), ...moreStyle(set)].join('\n'),
  );
  const font = `font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="13"`;
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-labelledby="title" ${font}>
<title id="title">${title}</title>
<style>
${light}
.bold { font-weight: 600; }
.big { font-size: 16px; }
.tick { font-size: 11px; }
@media (prefers-color-scheme: dark) {
${dark}
}
</style>
<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>
${parts.join('\n')}
</svg>
`;
}

/** The picture has its own background, because an SVG in a page cannot always know the colors of that page. */
function styleOf({ page, edge, text: ink, soft, ...classes }) {
  const bars = Object.entries(classes).map(([name, color]) => `.${name} { fill: ${color}; }`);
  return [
    `.page { fill: ${page}; stroke: ${edge}; }`,
    `.text, .bold, .figure { fill: ${ink}; }`,
    // no line of the grid crosses a figure
    `.figure { stroke: ${page}; stroke-width: 4px; paint-order: stroke; }`,
    `.soft, .tick { fill: ${soft}; }`,
    `.whisker { stroke: ${ink}; stroke-width: 1.5; fill: none; }`,
    // visible on a bar of a similar color
    `.halo { stroke: ${page}; stroke-width: 4; fill: none; }`,
    `.cut { stroke: ${page}; stroke-width: 3; fill: none; }`,
    `.axis { stroke: ${soft}; }`,
    `.grid { stroke: ${edge}; }`,
    ...bars,
  ];
}

/** The first two lines of a picture. */
export const heading = (title, subtitle) => [
  text('bold big', EDGE, 32, title),
  text('soft', EDGE, 54, subtitle),
];

export function text(className, x, y, content, anchor = 'start') {
  return `<text class="${className}" x="${oneDecimal(x)}" y="${y}" text-anchor="${anchor}">${content}</text>`;
}

export function line(className, x1, y1, x2, y2) {
  return `<line class="${className}" x1="${oneDecimal(x1)}" y1="${y1}" x2="${oneDecimal(x2)}" y2="${y2}"/>`;
}

export const oneDecimal = (value) => Number(value.toFixed(1));
