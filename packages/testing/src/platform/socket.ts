import type { IncomingMessage, Server } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'

/** An open WebSocket of a client. */
export type Socket = WebSocket

interface SocketServer {
  /** The open connections. */
  readonly clients: ReadonlySet<Socket>
  /** Breaks all connections and accepts no more. */
  close(): void
}

/**
 * Accepts WebSockets on a fake's server, and calls `onOpen` with each. Destroys the socket of an upgrade for which
 * `accepts` returns false. Accepts all if it is absent.
 */
export function acceptSockets(
  server: Server,
  onOpen: (socket: Socket) => void,
  accepts?: (request: IncomingMessage) => boolean,
): SocketServer {
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (accepts?.(request) === false) socket.destroy()
    else sockets.handleUpgrade(request, socket, head, onOpen)
  })
  return {
    clients: sockets.clients,
    close: () => {
      for (const client of sockets.clients) client.terminate()
      sockets.close()
    },
  }
}
