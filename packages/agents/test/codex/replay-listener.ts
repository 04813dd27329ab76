import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { WebSocketServer } from 'ws'
import { type Recorded, recordingOf } from '../replay.ts'
import { listenerToken } from './listener.ts'

export interface ReplayListener {
  readonly url: string
  /** How many connections were opened so far. */
  connections(): number
  /** Breaks the connections. */
  drop(): void
  close(): void
}

/**
 * Starts a listener that sends the recorded messages in order, and waits wherever something was sent to it. It needs a token, unless
 * `isOpen`. It sends its requests `lateMs` later.
 */
export async function replayListener(recording: string, { isOpen = false, lateMs = 0 } = {}): Promise<ReplayListener> {
  const server = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    verifyClient: ({ req }: { readonly req: IncomingMessage }) =>
      isOpen || req.headers.authorization === `Bearer ${listenerToken}`,
  })
  await once(server, 'listening')
  let opened = 0
  server.on('connection', (socket) => {
    opened += 1
    const lines: Recorded[] = [...recordingOf('codex', recording)]
    const ids = new Map<unknown, unknown>()
    const received: Recorded['line'][] = []
    socket.on('message', (data) => {
      const message = JSON.parse(String(data))
      // When threads are listed differs from one play to the next.
      if (message.method === 'initialized') return
      if (message.method === 'initialize') return socket.send(JSON.stringify({ id: message.id, result: {} }))
      if (message.method === 'thread/list') socket.send(JSON.stringify({ id: message.id, result: { data: [] } }))
      else received.push(message)
      play()
    })
    function play(): void {
      for (let next = lines[0]; next; next = lines[0]) {
        const { from, line } = next
        if (from === 'us') {
          const got = received.shift()
          if (!got) return
          if (got.method !== line.method) return socket.terminate()
          if (line.method) ids.set(line.id, got.id)
        } else if (lateMs > 0 && line.method && line.id !== undefined)
          setTimeout(() => socket.send(JSON.stringify(line)), lateMs)
        else socket.send(JSON.stringify(line.method ? line : { ...line, id: ids.get(line.id) }))
        lines.shift()
      }
    }
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `ws://127.0.0.1:${port}`,
    connections: () => opened,
    drop: () => {
      for (const client of server.clients) client.terminate()
    },
    close: () => {
      for (const client of server.clients) client.terminate()
      server.close()
    },
  }
}
