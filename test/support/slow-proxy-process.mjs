// A TCP proxy in its own process, so that it continues while the process under test is blocked.
// Arguments: the port of the server, and the delay of each answer in milliseconds.
import { connect, createServer } from 'node:net';

const [target, delayMs] = process.argv.slice(2).map(Number);
let connections = 0;

const proxy = createServer((inside) => {
  connections++;
  const outside = connect(target, '127.0.0.1');
  for (const socket of [inside, outside]) {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      inside.destroy();
      outside.destroy();
    });
  }
  inside.on('data', (chunk) => outside.write(chunk));
  outside.on('data', (chunk) => {
    setTimeout(() => {
      if (!inside.destroyed) inside.write(chunk);
    }, delayMs);
  });
});
proxy.listen(0, '127.0.0.1', () => process.send({ port: proxy.address().port }));
process.on('message', () => process.send({ connections }));
process.on('disconnect', () => process.exit());
