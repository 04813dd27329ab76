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

interface SocketServerOptions {
  /** Whether a request may open a WebSocket. Default: any may. */
  readonly accepts?: (request: IncomingMessage) => boolean
  readonly onOpen: (socket: Socket) => void
}

/** Accepts WebSockets on a fake's server. */
export function acceptSockets(server: Server, { accepts, onOpen }: SocketServerOptions): SocketServer {
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
