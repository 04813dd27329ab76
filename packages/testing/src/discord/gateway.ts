import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { fieldsOf } from '../recorded/frames.ts'
import { botOf, guildId, type Me } from './wire.ts'

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway */
const op = { dispatch: 0, heartbeat: 1, identify: 2, resume: 6, invalid: 9, hello: 10, acknowledged: 11 } as const

/** https://discord.com/developers/docs/events/gateway#gateway-intents */
const intent = { guildMessages: 1 << 9, directMessages: 1 << 12, content: 1 << 15 } as const

type Fields = Readonly<Record<string, unknown>>

export interface Gateway {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Sends to all clients with the matching intent. */
  dispatch(type: 'MESSAGE_CREATE' | 'INTERACTION_CREATE', event: Fields, place: { readonly isDirect: boolean }): void
  /** Sends that text to all clients as a frame, whatever it is. */
  push(text: string): void
  /** Breaks all connections; clients reconnect and get what they missed. */
  drop(): void
  /** How many identified clients are connected. */
  readonly connected: number
  close(): void
}

interface Session {
  readonly id: string
  readonly intents: number
  readonly sent: string[]
  socket: WebSocket | undefined
}

export interface GatewayOptions {
  readonly token: string
  readonly me: Me
  readonly url: () => string
}

/** JSON, without compression. Answers heartbeats, but never disconnects a client for missing one. */
export function createGateway({ token, me, url }: GatewayOptions): Gateway {
  const server = new WebSocketServer({ noServer: true })
  const sessions = new Map<string, Session>()
  return {
    upgrade: (request, socket, head) => server.handleUpgrade(request, socket, head, welcome),
    dispatch,
    push: (text) => {
      for (const { socket } of sessions.values()) socket?.send(text)
    },
    drop: () => {
      for (const client of server.clients) client.terminate()
    },
    get connected() {
      return [...sessions.values()].filter(({ socket }) => socket !== undefined).length
    },
    close: () => {
      for (const client of server.clients) client.terminate()
      server.close()
    },
  }

  function welcome(socket: WebSocket): void {
    let session: Session | undefined
    send(socket, { op: op.hello, d: { heartbeat_interval: 41_250 } })
    socket.on('message', (bytes) => {
      const { op: code, d } = fieldsOf(JSON.parse(String(bytes)))
      if (code === op.heartbeat) send(socket, { op: op.acknowledged })
      if (code === op.identify) session = identify(socket, fieldsOf(d))
      if (code === op.resume) session = resume(socket, fieldsOf(d))
    })
    socket.on('close', () => {
      if (session?.socket === socket) session.socket = undefined
    })
  }

  function identify(socket: WebSocket, { token: given, intents }: Fields): Session | undefined {
    if (given !== token) {
      socket.close(4004, 'Authentication failed.')
      return undefined
    }
    const id = `session-${sessions.size + 1}`
    const session = { id, intents: Number(intents), sent: [], socket }
    sessions.set(id, session)
    sendEvent(session, 'READY', {
      ...{ v: 10, user: botOf(me), guilds: [{ id: guildId, unavailable: true }], session_id: id },
      ...{ resume_gateway_url: url(), application: { id: me.id, flags: 0 }, shard: [0, 1] },
    })
    sendEvent(session, 'GUILD_DELETE', { id: guildId, unavailable: true })
    return session
  }

  function resume(socket: WebSocket, { token: given, session_id, seq }: Fields): Session | undefined {
    const session = sessions.get(String(session_id))
    if (given !== token || !session) {
      send(socket, { op: op.invalid, d: false })
      return undefined
    }
    session.socket = socket
    for (const missed of session.sent.slice(Number(seq))) socket.send(missed)
    sendEvent(session, 'RESUMED', {})
    return session
  }

  function dispatch(type: 'MESSAGE_CREATE' | 'INTERACTION_CREATE', event: Fields, { isDirect }: { isDirect: boolean }) {
    for (const session of sessions.values()) {
      const { intents } = session
      if (type === 'INTERACTION_CREATE') sendEvent(session, type, event)
      else if (intents & (isDirect ? intent.directMessages : intent.guildMessages)) {
        const isRead = isDirect || (intents & intent.content) !== 0 || String(event.content).includes(`<@${me.id}>`)
        sendEvent(session, type, isRead ? event : { ...event, content: '' })
      }
    }
  }

  function sendEvent({ sent, socket }: Session, type: string, event: Fields): void {
    const text = JSON.stringify({ op: op.dispatch, t: type, s: sent.length + 1, d: event })
    sent.push(text)
    socket?.send(text)
  }
}

function send(socket: WebSocket, payload: Fields): void {
  socket.send(JSON.stringify(payload))
}
