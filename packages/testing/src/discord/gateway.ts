import type { Server } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'
import { acceptSockets, type Socket } from '../platform/socket.ts'
import { botObject, guildId, type Me } from './wire.ts'

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway */
const op = { dispatch: 0, heartbeat: 1, identify: 2, resume: 6, invalid: 9, hello: 10, acknowledged: 11 } as const

/** https://discord.com/developers/docs/events/gateway#gateway-intents */
const intent = { guildMessages: 1 << 9, directMessages: 1 << 12, content: 1 << 15 } as const

export interface Gateway {
  /**
   * Sends a message to all sessions with the matching intent, and an interaction to all. Without the content intent, a
   * message in a server has no content unless it mentions the bot. Sessions that aren't connected get it on a resume.
   */
  dispatch(type: 'MESSAGE_CREATE' | 'INTERACTION_CREATE', event: Fields, isDirect: boolean): void
  /** Sends any text to all identified clients as a frame. It is not kept for a resume. */
  pushFrame(text: string): void
  /**
   * Breaks all connections, or closes them with that code. After most codes clients reconnect and get what they missed.
   * After 4004 and 4014 they may not:
   * https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
   */
  dropConnections(code?: number): void
  /** How the gateway treats clients from now on. */
  setMood(mood: GatewayMood): void
  /** Ends all sessions. A client has to identify again, and misses the events until then. */
  invalidateSessions(): void
  /** How many identified clients are connected. */
  readonly connected: number
  /** How many connections are open, identified or not. */
  readonly connections: number
  /** Breaks all connections and accepts no more. */
  close(): void
}

/**
 * `open`: as usual. A code: closes a connection with it when the client identifies itself. `silent`: accepts
 * connections but sends nothing on any, like a half-open connection.
 */
export type GatewayMood = 'open' | 'silent' | number

interface Session {
  readonly id: string
  readonly intents: number
  readonly sent: string[]
  socket: Socket | undefined
}

/**
 * Creates the gateway on a fake's server: JSON, without compression. It answers heartbeats, which clients have to send
 * every `heartbeatMs`, but never disconnects a client for missing one.
 */
export function createGateway(
  server: Server,
  url: () => string,
  { token, me }: { readonly token: string; readonly me: Me },
  heartbeatMs: number,
): Gateway {
  const sockets = acceptSockets(server, serveConnection)
  const sessions = new Map<string, Session>()
  let count = 0
  let mood: GatewayMood = 'open'
  return {
    dispatch,
    pushFrame: (text) => {
      for (const { socket } of sessions.values()) socket?.send(text)
    },
    dropConnections: (code) => {
      for (const client of sockets.clients) {
        if (code === undefined) client.terminate()
        else client.close(code)
      }
    },
    setMood: (next) => {
      mood = next
    },
    // https://docs.discord.com/developers/events/gateway-events#invalid-session
    invalidateSessions: () => {
      for (const { socket } of sessions.values()) if (socket) sendUnlessSilent(socket, { op: op.invalid, d: false })
      sessions.clear()
    },
    get connected() {
      return [...sessions.values()].filter(({ socket }) => socket !== undefined).length
    },
    get connections() {
      return sockets.clients.size
    },
    close: sockets.close,
  }

  /**
   * Greets a client, then answers its heartbeats and lets it identify itself or resume. Ignores it while the mood is
   * `silent`.
   */
  function serveConnection(socket: Socket): void {
    let session: Session | undefined
    sendUnlessSilent(socket, { op: op.hello, d: { heartbeat_interval: heartbeatMs } })
    socket.on('message', (bytes) => {
      if (mood === 'silent') return
      const { op: code, d } = fieldsOf(JSON.parse(String(bytes)))
      if (code === op.heartbeat) sendUnlessSilent(socket, { op: op.acknowledged })
      if (code === op.identify) session = startSession(socket, fieldsOf(d))
      if (code === op.resume) session = resumeSession(socket, fieldsOf(d))
    })
    socket.on('close', () => {
      if (session?.socket === socket) session.socket = undefined
    })
  }

  /**
   * Starts a session, tells the client, and returns it. Closes the connection, and returns undefined, if the token is
   * wrong or the mood is a close code.
   */
  function startSession(socket: Socket, { token: givenToken, intents }: Fields): Session | undefined {
    if (givenToken !== token) {
      socket.close(4004, 'Authentication failed.')
      return undefined
    }
    if (typeof mood === 'number') {
      socket.close(mood)
      return undefined
    }
    count += 1
    const id = `session-${count}`
    const session = { id, intents: Number(intents), sent: [], socket }
    sessions.set(id, session)
    sendEvent(session, 'READY', {
      v: 10,
      user: botObject(me),
      guilds: [{ id: guildId, unavailable: true }],
      session_id: id,
      resume_gateway_url: url(),
      application: { id: me.id, flags: 0 },
      shard: [0, 1],
    })
    sendEvent(session, 'GUILD_DELETE', { id: guildId, unavailable: true })
    return session
  }

  /**
   * Connects a session to this client, and sends it what it missed. Tells the client to identify again, and returns
   * undefined, if the token is wrong or there is no such session.
   */
  function resumeSession(socket: Socket, { token: givenToken, session_id, seq }: Fields): Session | undefined {
    const session = sessions.get(String(session_id))
    if (givenToken !== token || !session) {
      sendUnlessSilent(socket, { op: op.invalid, d: false })
      return undefined
    }
    session.socket = socket
    for (const missed of session.sent.slice(Number(seq))) socket.send(missed)
    sendEvent(session, 'RESUMED', {})
    return session
  }

  /**
   * Sends a message to the sessions with the matching intent, and an interaction to all. The content is empty for a
   * session without the content intent, unless the message is direct or mentions the bot.
   */
  function dispatch(type: 'MESSAGE_CREATE' | 'INTERACTION_CREATE', event: Fields, isDirect: boolean): void {
    for (const session of sessions.values()) {
      const { intents } = session
      if (type === 'INTERACTION_CREATE') sendEvent(session, type, event)
      else if (intents & (isDirect ? intent.directMessages : intent.guildMessages)) {
        const isRead = isDirect || (intents & intent.content) !== 0 || String(event.content).includes(`<@${me.id}>`)
        sendEvent(session, type, isRead ? event : { ...event, content: '' })
      }
    }
  }

  /** Keeps the event for a resume, and sends it if the session is connected and the mood isn't `silent`. */
  function sendEvent({ sent, socket }: Session, type: string, event: Fields): void {
    const text = JSON.stringify({ op: op.dispatch, t: type, s: sent.length + 1, d: event })
    sent.push(text)
    if (mood !== 'silent') socket?.send(text)
  }

  /** Sends a frame. Does nothing while the mood is `silent`. */
  function sendUnlessSilent(socket: Socket, payload: Fields): void {
    if (mood !== 'silent') socket.send(JSON.stringify(payload))
  }
}
