import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A listener behind a network that can be cut. */
export interface CutListener {
  readonly url: string
  /** Breaks all connections, and opens none until `mend`. What a client sent in the last moment may be lost. */
  cut(): void
  /** From now on, drops what clients send. */
  deafen(): void
  /** Passes on everything, and opens connections again. */
  mend(): void
  close(): void
}

/** Passes on the bytes between clients and the listener at `target`. */
export async function cutListener(target: string): Promise<CutListener> {
  const port = Number(new URL(target).port)
  const sockets = new Set<Socket>()
  let isCut = false
  let isDeaf = false
  const server = createServer((client) => {
    if (isCut) return void client.destroy()
    const inner = connect(port, '127.0.0.1')
    for (const [socket, other] of [
      [client, inner],
      [inner, client],
    ] as const) {
      sockets.add(socket)
      socket.on('data', (bytes) => {
        if (socket === inner || !isDeaf) other.write(bytes)
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `ws://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}`,
    cut,
    deafen: () => {
      isDeaf = true
    },
    mend: () => {
      isCut = false
      isDeaf = false
    },
    close: () => {
      cut()
      server.close()
    },
  }
}
