import { once } from 'node:events'
import { WebSocket, WebSocketServer } from 'ws'
import { listenerToken } from './listener.ts'

/** A listener that is reached through a slow network. */
export interface DelayedListener {
  readonly url: string
  /** Holds what the listener sends from now on. */
  hold(): void
  /** Resolves once the client has sent a request of this method since `hold`. */
  sent(method: string): Promise<void>
  /** Passes on what was held, and what comes. */
  release(): void
  close(): void
}

/** Passes on all messages between a client and the listener at `target`. */
export async function delayListener(target: string): Promise<DelayedListener> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const held: (() => void)[] = []
  const methods: string[] = []
  let isHeld = false
  let look = (): void => {}
  server.on('connection', async (socket) => {
    const inner = new WebSocket(target, { headers: { authorization: `Bearer ${listenerToken}` } })
    const opened = once(inner, 'open')
    socket.on('message', async (data) => {
      await opened
      methods.push(JSON.parse(String(data)).method)
      inner.send(String(data))
      look()
    })
    inner.on('message', (data) => {
      const pass = (): void => socket.send(String(data))
      if (isHeld) held.push(pass)
      else pass()
    })
    socket.on('close', () => inner.close())
  })
  const address = server.address()
  return {
    url: `ws://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}`,
    hold: () => {
      isHeld = true
      methods.length = 0
    },
    sent: async (method) =>
      await new Promise((resolve) => {
        look = () => methods.includes(method) && resolve()
        look()
      }),
    release: () => {
      isHeld = false
      for (const pass of held.splice(0)) pass()
    },
    close: () => server.close(),
  }
}
