import { execFileSync } from 'node:child_process';

const KILL = `
  const socket = require('node:net').connect(Number(process.argv[1]), '127.0.0.1');
  socket.write('CLIENT KILL TYPE normal SKIPME yes\\r\\nPING\\r\\n');
  let text = '';
  socket.on('data', (chunk) => { text += chunk; if (text.includes('PONG')) socket.destroy(); });
`;

/** Makes a server close all its connections. This process is blocked in the meantime and does not notice it. */
export function killConnections(port: number): void {
  execFileSync(process.execPath, ['-e', KILL, String(port)]);
}
