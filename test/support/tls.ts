import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';

/** The certificate of 127.0.0.1 and localhost, which only tests trust. It is valid until 2126. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUHOTctVF5wCx1PhbFv9s2oTWxiw8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTIwMTA3MTEzMloYDzIxMjYxMTA3
MDcxMTMyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAToAnvDXEYZY46IkbUYmA+ORdRnqY3Kp0sYAutxJysN3jt7HvsFPIHU
+HchUM1A06hGMQ5aqHa9ENm0cNaXtLr0o28wbTAdBgNVHQ4EFgQUl2JdxdJY7kzk
MFe9tDwK7uqRgmMwHwYDVR0jBBgwFoAUl2JdxdJY7kzkMFe9tDwK7uqRgmMwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgK+WQsANFguHR/LbVEh/6rkUvgw1I8yQdgSC9RUzJDn8CIH74
LXTDyPGR0o0YFfPPNA8GnaNvBSRo1I+ZHsL5wO5+
-----END CERTIFICATE-----
`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCHQOIOR8ezxuBVN9
0axE2BlFXYy8pRWLSeyDorzmUNqhRANCAAToAnvDXEYZY46IkbUYmA+ORdRnqY3K
p0sYAutxJysN3jt7HvsFPIHU+HchUM1A06hGMQ5aqHa9ENm0cNaXtLr0
-----END PRIVATE KEY-----
`;

/** A port that accepts only TLS, in front of a server that does not. */
export interface TlsPort {
  readonly port: number;
  stop(): Promise<void>;
}

/** Opens such a port on loopback. The server itself may have been built without TLS. */
export async function startTlsPort(serverPort: number): Promise<TlsPort> {
  const sockets = new Set<Socket>();
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (secure) => {
    const plain = connect(serverPort, '127.0.0.1');
    for (const socket of [secure, plain]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        secure.destroy();
        plain.destroy();
      });
    }
    secure.pipe(plain).pipe(secure);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', (_, socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
