// The README's chart, drawn by hand: what is left of a bare application's throughput, a group of bars for each platform.
const BARS = [
  ['ours 5 memory', 'nestjs-freq-limit, memory, 5 limits', '#2f9e6e'],
  ['ours 1 redis', 'nestjs-freq-limit, Redis, 1 limit', '#2f9e6e'],
  ['ours 5 redis', 'nestjs-freq-limit, Redis, 5 limits', '#2f9e6e'],
  ['throttler 5 memory', '@nestjs/throttler, memory, 5 limits', '#c9803a'],
  ['throttler + nest-lab 1 redis', '@nestjs/throttler, Redis, 1 limit', '#c9803a'],
  ['throttler + nest-lab 5 redis', '@nestjs/throttler, Redis, 5 limits', '#c9803a'],
  ['rate-limiter-flexible 1 redis', 'rate-limiter-flexible, Redis, 1 limit', '#8577d1'],
  ['rate-limiter-flexible 5 redis', 'rate-limiter-flexible, Redis, 5 limits', '#8577d1'],
];
const TITLES = { express: 'Express', fastify: 'Fastify' };

// grey enough for a white page and for a dark one
const INK = '#7d8590';
const LEFT = 262;
const SCALE = 400;
const ROW = 22;

/** @param http rows of results.json by platform */
export function chart(http) {
  const groups = Object.keys(TITLES).filter((platform) => http[platform]);
  const parts = [];
  let y = 24;
  for (const platform of groups) {
    parts.push(text(LEFT, y, TITLES[platform], 'start', 'bold'));
    y += 12;
    const top = y;
    for (const [name, label, color] of BARS) {
      const row = http[platform].find((one) => one.name === name);
      if (row === undefined) continue;
      parts.push(bar(y, label, row.throughput, color));
      y += ROW;
    }
    parts.push(line(LEFT, top, y), line(LEFT + SCALE, top, y, '4 3'));
    y += 28;
  }
  parts.push(text(LEFT + SCALE, y - 10, '1.00 = the bare application', 'end'));
  const size = `width="${LEFT + SCALE + 60}" height="${y}" viewBox="0 0 ${LEFT + SCALE + 60} ${y}"`;
  const style = `font-family="system-ui, sans-serif" font-size="13" fill="${INK}"`;
  const title = '<title>Requests a second, as a share of the bare application</title>';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" ${style}>\n${title}\n${parts.join('\n')}\n</svg>\n`;
}

function bar(y, label, value, color) {
  const width = (value * SCALE).toFixed(1);
  const box = `<rect x="${LEFT}" y="${y + 3}" width="${width}" height="${ROW - 6}" rx="2" fill="${color}"/>`;
  const middle = y + ROW / 2 + 4.5;
  return [
    text(LEFT - 8, middle, label, 'end'),
    box,
    text(LEFT + Number(width) + 6, middle, value.toFixed(2), 'start'),
  ].join('');
}

function text(x, y, content, anchor, weight = 'normal') {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-weight="${weight}">${content}</text>`;
}

function line(x, from, to, dashes = 'none') {
  return `<line x1="${x}" y1="${from}" x2="${x}" y2="${to}" stroke="${INK}" stroke-dasharray="${dashes}"/>`;
}
