import type { Server } from 'node:http'
import { fieldsOf } from '../fields.ts'
import { parseJson } from '../platform/body.ts'
import { acceptSockets, type Socket } from '../platform/socket.ts'
import type { Attempt, Receiver } from './delivery.ts'

export interface Sockets {
  /** Makes a ticket for one connection and returns its URL. */
  open(): string
  readonly receiver: Receiver
  /** How many apps are connected. */
  readonly count: number
  /** Sends that text to all apps as a frame, whatever it is. */
  push(text: string): void
  /** Asks all apps to reconnect, as Slack does every few hours. */
  recycle(): void
  close(): void
}

/** Socket Mode: events arrive over a WebSocket and are acknowledged on it. */
export function createSockets(server: Server, addressOf: () => string): Sockets {
  const tickets = new Set<string>()
  const sockets = new Set<Socket>()
  const waiting = new Map<string, () => void>()
  let count = 0
  const connections = acceptSockets(server, {
    accepts: ({ url = '/' }) => tickets.delete(new URL(url, 'http://loopback').searchParams.get('ticket') ?? ''),
    onOpen: take,
  })
  return {
    open: () => {
      count += 1
      const ticket = `ticket-${count}`
      tickets.add(ticket)
      return `${addressOf().replace(/^http/, 'ws')}/link?ticket=${ticket}`
    },
    receiver: { take: send, isThere: () => sockets.size > 0 },
    get count() {
      return sockets.size
    },
    push: (text) => {
      for (const socket of sockets) socket.send(text)
    },
    recycle: () => {
      for (const socket of sockets) write(socket, { type: 'disconnect', reason: 'refresh_requested' })
    },
    close: connections.close,
  }

  function take(socket: Socket): void {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => sockets.delete(socket))
    socket.on('message', (message) => {
      const { envelope_id } = fieldsOf(parseJson(String(message)))
      waiting.get(String(envelope_id))?.()
    })
    write(socket, { type: 'hello', num_connections: sockets.size, connection_info: { app_id: 'A0FAKE' } })
  }

  async function send({ type, body, retry, signal }: Attempt): Promise<boolean> {
    const socket = [...sockets].at(-1)
    if (!socket) return false
    count += 1
    const envelope_id = `envelope-${count}`
    return await new Promise((resolve) => {
      const end = (isTaken: boolean): void => {
        waiting.delete(envelope_id)
        resolve(isTaken)
      }
      waiting.set(envelope_id, () => end(true))
      signal.addEventListener('abort', () => end(false), { once: true })
      const retried = retry > 0 ? { retry_attempt: retry, retry_reason: 'timeout' } : { retry_attempt: 0 }
      write(socket, { envelope_id, type, payload: body, accepts_response_payload: type !== 'events_api', ...retried })
    })
  }

  function write(socket: Socket, message: object): void {
    socket.send(JSON.stringify(message))
  }
}
