import type { Clock } from '@reply/core'
import type { Chat } from '@reply/sink'
import { createRecent, PortError } from '@reply/sink/channel'
import type { BaileysAck, BaileysEvents, BaileysQuoted, BaileysSocket, BaileysSource } from './api.ts'
import { createIdentities, type Identities, isPerson, withoutDevice } from './identity.ts'
import { toRevoked } from './inbound.ts'

/**
 * One account's connection to WhatsApp, across sockets. It keeps what a new socket doesn't report again: messages that
 * can be quoted, when they were posted, and which were deleted.
 */
export interface BaileysConnection {
  /** The current socket. Throws `unreachable` without one. */
  socket(): BaileysSocket
  /** Records a message that was posted or received at `at`, in ms since the epoch. */
  remember(ref: string, message: BaileysQuoted, at: number): void
  recall(ref: string): { readonly message: BaileysQuoted; readonly at: number } | undefined
  /** True if the account's own message in that chat was deleted for everyone. */
  isGone(jid: string, id: string): boolean
  /**
   * When WhatsApp accepted the message, by its clock, in ms since the epoch. Undefined without an acknowledgement in
   * time.
   */
  takenAt(id: string, clock: Clock): Promise<number | undefined>
  readonly identities: Identities
  /** Stops listening to the socket. */
  close(): void
}

/** How many messages to keep; the oldest are dropped. */
const most = 1000

/** How long to wait for an acknowledgement, in ms. The server sends it within a round trip. */
const ackMs = 2000

/** Baileys' event for acknowledgements. */
const ackEvent = 'CB:ack,class:message'

const connections = new WeakMap<object, BaileysConnection>()

/** The connection of a source, shared by everything that uses the same source. */
export function connectionOf(source: BaileysSource): BaileysConnection {
  const connection = connections.get(source) ?? createConnection(source)
  connections.set(source, connection)
  return connection
}

function createConnection(source: BaileysSource): BaileysConnection {
  const known = createRecent<{ readonly message: BaileysQuoted; readonly at: number }>(most)
  const gone = createRecent<true>(most)
  const acks = createRecent<number | undefined>(most)
  const waiting = new Map<string, (at: number | undefined) => void>()
  let current: BaileysSocket | undefined
  const now = (): BaileysSocket | undefined => (typeof source === 'function' ? source() : source)
  const identities = createIdentities(now)
  return {
    socket,
    takenAt,
    identities,
    remember,
    recall: (ref) => known.get(ref),
    isGone: (jid, id) => gone.has(`${jid}/${id}`),
    close: () => listen(undefined),
  }

  function socket(): BaileysSocket {
    const next = now()
    listen(next)
    if (next) return next
    throw new PortError('unreachable', 'WhatsApp is not connected at the moment: there is no socket.')
  }

  function listen(next: BaileysSocket | undefined): void {
    if (next === current) return
    current?.ev.off('messages.update', receive)
    current?.ws?.off(ackEvent, acknowledge)
    next?.ev.on('messages.update', receive)
    next?.ws?.on(ackEvent, acknowledge)
    current = next
  }

  function acknowledge({ attrs }: BaileysAck): void {
    const { id = '', t, error } = attrs
    const seconds = error === undefined ? Number(t) : Number.NaN
    const at = seconds > 0 ? seconds * 1000 : undefined
    waiting.get(id)?.(at)
    acks.set(id, at)
  }

  /** The acknowledgement may arrive before the sending call resolves. */
  async function takenAt(id: string, clock: Clock): Promise<number | undefined> {
    if (acks.has(id) || !current?.ws) return acks.get(id)
    return await new Promise((resolve) => {
      const done = (at: number | undefined): void => {
        stop()
        waiting.delete(id)
        resolve(at)
      }
      const stop = clock.after(ackMs, () => done(undefined))
      waiting.set(id, done)
    })
  }

  function receive(updates: BaileysEvents['messages.update']): void {
    for (const update of updates) {
      const revoked = toRevoked(update)
      if (!revoked) continue
      const { jid, alt, id, by } = revoked
      if (by) {
        void isAdmin(jid, by).then((may) => may && gone.set(`${jid}/${id}`, true))
        continue
      }
      gone.set(`${jid}/${id}`, true)
      // The port may know the chat by the person's other id.
      if (isPerson(jid)) void identities.personOf(jid, alt).then((known) => gone.set(`${known}/${id}`, true))
    }
  }

  /** Reading a group may fail on a closed socket; the message then counts as there. */
  async function isAdmin(jid: string, ids: readonly string[]): Promise<boolean> {
    try {
      const { participants = [] } = (await current?.groupMetadata?.(jid)) ?? {}
      return participants.some(
        ({ id, lid, phoneNumber, admin }) =>
          Boolean(admin) && [id, lid, phoneNumber].some((one) => one !== undefined && ids.includes(withoutDevice(one))),
      )
    } catch {
      return false
    }
  }

  function remember(ref: string, message: BaileysQuoted, at: number): void {
    // An edit keeps the original time.
    known.set(ref, { message, at: known.get(ref)?.at ?? at })
  }
}

/** A ref's id. For other people's messages it includes the author, which quoting needs. */
export function refOf({ id, fromMe, participant, remoteJid }: BaileysQuoted['key']): string {
  return fromMe ? id : `${id}/${participant ?? remoteJid}`
}

/** The key of a message that isn't in memory, as after a restart: enough to reply to it, but without its text. */
export function keyOf(ref: string, jid: string): BaileysQuoted['key'] {
  const [id = ref, author] = ref.split('/')
  if (author === undefined) return { remoteJid: jid, fromMe: true, id }
  // The person may have used another of their ids than the chat's.
  return isPerson(jid)
    ? { remoteJid: author, fromMe: false, id }
    : { remoteJid: jid, fromMe: false, id, participant: author }
}

/**
 * A message in the form to quote in that chat. The author keeps the id that WhatsApp used. A `remoteJid` other than the
 * chat's would make it a quote from another chat (Baileys' `generateWAMessageFromContent`).
 */
export function quotableIn(jid: string, { key, message }: BaileysQuoted): BaileysQuoted {
  if (key.fromMe) return { key, message }
  return { key: { ...key, remoteJid: jid, participant: key.participant ?? key.remoteJid }, message }
}

export function chatOf(jid: string): Chat {
  return { id: jid, kind: isPerson(jid) ? 'private' : 'shared' }
}
