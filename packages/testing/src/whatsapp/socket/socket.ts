import { type Fields, fieldsOf } from '../../fields.ts'
import type { FaultPlan } from '../../platform/fault.ts'
import type { SocketAccount } from './account.ts'
import { socketLimits } from './account.ts'
import { closedError, SocketBoom } from './boom.ts'
import type { SocketCallKind, SocketFault } from './fault.ts'

/** A call as received by the socket. */
export interface BaileysCall {
  /** When it was made, in ms since the epoch by the fake's clock. */
  readonly at: number
  /** The kind of call. */
  readonly kind: SocketCallKind
  /** The person or group that it is about. */
  readonly jid: string
  /** The number of the connected socket, from 1. */
  readonly socket: number
  /** Whether it was done, even if the caller got no answer. */
  readonly ok: boolean
  /** The fault that hit it. Absent if none did. */
  readonly fault?: SocketFault['type']
}

/** A socket's events, with Baileys' own names. */
export interface FakeSocketEvents {
  /** `notify`: new messages. `append`: those from before the connection, or the account's own. */
  'messages.upsert': { readonly messages: readonly unknown[]; readonly type: 'notify' | 'append' }
  /** Messages that were revoked or refused. */
  'messages.update': readonly unknown[]
  /** The login changed and has to be stored: `BaileysEventMap` in Baileys' types. Never emitted here. */
  'creds.update': object
  /** The socket opened, or closed for good. */
  'connection.update': {
    readonly connection: 'open' | 'close'
    readonly lastDisconnect?: { readonly error: Error; readonly date: Date }
  }
}

type Listeners = { readonly [E in keyof FakeSocketEvents]: Set<(payload: FakeSocketEvents[E]) => void> }

/**
 * The server's acknowledgement of a message, an edit or a removal. https://github.com/tulir/whatsmeow/blob/main/send.go
 * waits for it after each message, and reads its `error` and its `t`: Unix time in seconds, by the server's clock.
 */
interface FakeAck {
  readonly tag: 'ack'
  readonly attrs: Readonly<Record<string, string>>
}

const ackEvent = 'CB:ack,class:message'

/**
 * The part of `makeWASocket()`'s result that a channel uses. Once closed, it stays closed, and the host creates
 * another.
 */
export interface FakeSocket {
  /** The account, with the number of this device. */
  readonly user: { readonly id: string; readonly lid: string }
  /** The socket's events. */
  readonly ev: {
    on<E extends keyof FakeSocketEvents>(event: E, listener: (payload: FakeSocketEvents[E]) => void): void
    off<E extends keyof FakeSocketEvents>(event: E, listener: (payload: FakeSocketEvents[E]) => void): void
  }
  /** Wire frames, with Baileys' names: `SocketConfig` and "custom functionality" in its README. */
  readonly ws: {
    on(event: typeof ackEvent, listener: (ack: FakeAck) => void): void
    off(event: typeof ackEvent, listener: (ack: FakeAck) => void): void
  }
  /** The login's mapping of numbers and LIDs: `SignalRepositoryWithLIDStore` in Baileys' types. */
  readonly signalRepository: { readonly lidMapping: { getPNForLID(lid: string): Promise<string | null> } }
  /** The members of a group: `GroupMetadata` in Baileys' types. */
  groupMetadata(jid: string): Promise<{
    participants: { id: string; lid?: string; phoneNumber?: string; admin?: 'admin' | 'superadmin' | null }[]
  }>
  /** Sends, edits, removes or reacts, by the content's own fields. */
  sendMessage(jid: string, content: object, options?: object): Promise<unknown>
  /** Shows or withdraws "typing". */
  sendPresenceUpdate(type: 'composing' | 'paused' | 'available' | 'unavailable', jid?: string): Promise<void>
  /** Marks messages as read. */
  readMessages(keys: readonly object[]): Promise<void>
}

export interface SocketHandle {
  readonly socket: FakeSocket
  readonly isOpen: boolean
  /** How many listeners are registered. */
  readonly listening: number
  /** Calls the event's listeners. */
  emit<E extends keyof FakeSocketEvents>(event: E, payload: FakeSocketEvents[E]): void
  /** Breaks the connection and emits that, with this error. Does nothing if it is closed. */
  close(error?: Error): void
}

/** The account that a socket is linked to, and what its server knows. */
interface SocketLink {
  readonly account: SocketAccount
  readonly user: FakeSocket['user']
  readonly plan: FaultPlan<SocketFault, Pick<BaileysCall, 'kind'>>
  /** Of the socket, from 1. */
  readonly number: number
  readonly now: () => number
  /** The number of a LID, in the login's format. */
  readonly numberOf: (lid: string) => string | undefined
  /** The administrators of a group. */
  readonly adminsOf: (jid: string) => readonly string[]
  /** Every call is added here, and replaced when it is done. */
  readonly calls: BaileysCall[]
}

/** Returns a fake of Baileys' socket. It is open, and its creator emits that through `emit`. */
export function createSocket(link: SocketLink): SocketHandle {
  const { account, user, plan, number, now, numberOf, adminsOf, calls } = link
  const listeners: Listeners = {
    'messages.upsert': new Set(),
    'messages.update': new Set(),
    'creds.update': new Set(),
    'connection.update': new Set(),
  }
  const ackListeners = new Set<(ack: FakeAck) => void>()
  let isOpen = true
  const socket: FakeSocket = {
    user,
    ev: {
      on: (event, listener) => void listeners[event].add(listener),
      off: (event, listener) => void listeners[event].delete(listener),
    },
    ws: {
      on: (_, listener) => void ackListeners.add(listener),
      off: (_, listener) => void ackListeners.delete(listener),
    },
    signalRepository: { lidMapping: { getPNForLID: async (lid) => numberOf(lid) ?? null } },
    groupMetadata: async (jid) => ({
      participants: [{ id: user.lid, admin: null }, ...adminsOf(jid).map((id) => ({ id, admin: 'admin' as const }))],
    }),
    sendMessage,
    sendPresenceUpdate,
    readMessages,
  }
  return {
    socket,
    get isOpen() {
      return isOpen
    },
    get listening() {
      return Object.values(listeners).reduce((sum, { size }) => sum + size, ackListeners.size)
    },
    emit,
    close,
  }

  /** Calls the event's listeners. */
  function emit<E extends keyof FakeSocketEvents>(event: E, payload: FakeSocketEvents[E]): void {
    for (const listener of [...listeners[event]]) listener(payload)
  }

  /** Breaks the connection and emits that, so that every later call rejects. Does nothing if it is closed. */
  function close(error: Error = closedError()): void {
    if (!isOpen) return
    isOpen = false
    emit('connection.update', { connection: 'close', lastDisconnect: { error, date: new Date(now()) } })
  }

  /**
   * Resolves with the message, as Baileys does, before the acknowledgement, which is emitted later unless the socket
   * closes. Also emits the message as history. Rejects as `runCall` does, and if the content is refused.
   */
  async function sendMessage(jid: string, content: object, options: object = {}): Promise<unknown> {
    const fields = fieldsOf(content)
    const made = account.makeMessage(jid, fields, fieldsOf(options))
    const acknowledged = await runCall(kindOf(fields), jid, () =>
      account.applyMessage(jid, made, fields, fieldsOf(options)),
    )
    // The socket receives its own messages as history, whatever the server does with them.
    queueMicrotask(() => emit('messages.upsert', { messages: [made], type: 'append' }))
    const id = String(fieldsOf(made.key).id)
    const attrs = { class: 'message', id, from: jid, t: unixSeconds(now()) }
    if (acknowledged !== 'nothing') void severalTurns().then(() => isOpen && acknowledge(attrs, acknowledged.error))
    return made
  }

  /** Emits the server's acknowledgement. One with an error also marks the message as failed. */
  function acknowledge(attrs: FakeAck['attrs'], error: string | undefined): void {
    const ack: FakeAck = { tag: 'ack', attrs: { ...attrs, ...(error !== undefined && { error }) } }
    for (const listener of [...ackListeners]) listener(ack)
    if (error === undefined) return
    const key = { remoteJid: attrs.from, fromMe: true, id: attrs.id }
    emit('messages.update', [{ key, update: { status: 0, messageStubParameters: [error] } }])
  }

  /** "composing" shows "typing…" for 10 s. Any other type ends it. Rejects as `runCall` does. */
  async function sendPresenceUpdate(type: string, jid = ''): Promise<void> {
    await runCall('typing', jid, () => {
      account.chat(jid).typingUntil = type === 'composing' ? now() + socketLimits.typingMs : 0
      account.changed(jid)
    })
  }

  /** Marks messages as read, one call each. Ignores unknown messages. Rejects as `runCall` does, without the rest. */
  async function readMessages(keys: readonly object[]): Promise<void> {
    for (const key of keys.map(fieldsOf)) {
      const jid = String(key.remoteJid)
      await runCall('read', jid, () => {
        const { posts } = account.chat(jid)
        const post = posts.get(String(key.id))
        if (post) posts.set(post.id, { ...post, isRead: true })
        account.changed(jid)
      })
    }
  }

  /**
   * Logs a call, and does it unless a fault prevents that. Resolves with the acknowledgement to emit later. Rejects
   * with a `SocketBoom` on a closed socket and for some faults. Never resolves for a stall.
   */
  async function runCall(kind: SocketCallKind, jid: string, run: () => void): Promise<Acknowledged> {
    const fault = plan.next({ kind })
    const tried: BaileysCall = { at: now(), kind, jid, socket: number, ok: false, ...(fault && { fault: fault.type }) }
    const index = calls.push(tried) - 1
    /** Does the call, and logs that. */
    const done = (): void => {
      run()
      calls[index] = { ...tried, ok: true }
    }
    // Asynchronous, because the real one looks up device keys first.
    await Promise.resolve()
    if (!isOpen) throw closedError()
    switch (fault?.type) {
      case undefined:
        done()
        return {}
      case 'refused':
        throw new SocketBoom(fault.statusCode, fault.message ?? 'not-acceptable')
      case 'drop':
        close()
        throw closedError()
      case 'unanswered':
        done()
        throw new SocketBoom(408, 'Timed Out')
      case 'accept-then-drop':
        done()
        close()
        return 'nothing'
      case 'silent':
        if (fault.isTaken) done()
        return 'nothing'
      case 'nack':
        return { error: fault.error }
      case 'stall':
        return await new Promise<never>(() => {})
      default:
        return fault satisfies never
    }
  }
}

/** The acknowledgement, with the error of a refusal. "nothing" if none is sent. */
type Acknowledged = { readonly error?: string } | 'nothing'

/** The kind of a message's call. "text" for content without an edit, deletion, reaction, document or picture. */
function kindOf(content: Fields): SocketCallKind {
  const kinds = ['edit', 'delete', 'react', 'document', 'image'] as const
  return kinds.find((kind) => content[kind] !== undefined) ?? 'text'
}

/** Resolves after a few microtasks, so that an acknowledgement comes after its `sendMessage` has resolved. */
async function severalTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
}

/** The seconds of a time, as the text that an acknowledgement has. */
function unixSeconds(ms: number): string {
  return String(Math.floor(ms / 1000))
}
