import type { Clock } from '@reply/core'
import { type Chat, PortError } from '@reply/sink'
import type { BaileysAck, BaileysEvents, BaileysQuoted, BaileysSocket, BaileysSource } from './api.ts'
import { createIdentities, type Identities, isPerson } from './identity.ts'
import { toRevoked } from './inbound.ts'

/**
 * One account's line to WhatsApp, whatever socket it goes over at the moment. It remembers what a socket does not tell
 * again: what is there to be quoted, when it was posted, and what was taken back.
 */
export interface Line {
  /** The socket of the moment. Throws `unreachable` where there is none. */
  socket(): BaileysSocket
  /** Something was posted or heard. */
  remember(ref: string, message: BaileysQuoted, at: number): void
  recall(ref: string): { readonly message: BaileysQuoted; readonly at: number } | undefined
  /** Somebody took it back for everyone. */
  isGone(id: string): boolean
  /** When WhatsApp took the message of that id, by its clock, in ms since the epoch. Undefined if the socket tells nothing of it in time. */
  takenAt(id: string, clock: Clock): Promise<number | undefined>
  readonly identities: Identities
  /** Ends listening. */
  close(): void
}

/** So many messages are remembered. */
const most = 1000

/** The server says so within a round trip; what a socket has not told after this, in ms, is not waited for. */
const ackMs = 2000

/** Baileys' name for it. */
const ackEvent = 'CB:ack,class:message'

const lines = new WeakMap<object, Line>()

/** The one of a source: all that is written with it shares what is known. */
export function lineOf(source: BaileysSource): Line {
  const line = lines.get(source) ?? createLine(source)
  lines.set(source, line)
  return line
}

function createLine(source: BaileysSource): Line {
  const known = new Map<string, { readonly message: BaileysQuoted; readonly at: number }>()
  const gone = new Set<string>()
  const acks = new Map<string, number | undefined>()
  const waiting = new Map<string, (at: number | undefined) => void>()
  let current: BaileysSocket | undefined
  const now = (): BaileysSocket | undefined => (typeof source === 'function' ? source() : source)
  return {
    socket,
    takenAt,
    identities: createIdentities(now),
    remember,
    recall: (ref) => known.get(ref),
    isGone: (id) => gone.has(id),
    close: () => listen(undefined),
  }

  function socket(): BaileysSocket {
    const next = now()
    listen(next)
    if (next) return next
    throw new PortError('unreachable', 'There is no socket at the moment: WhatsApp is not connected.')
  }

  function listen(next: BaileysSocket | undefined): void {
    if (next === current) return
    current?.ev.off('messages.update', hear)
    current?.ws?.off(ackEvent, acknowledge)
    next?.ev.on('messages.update', hear)
    next?.ws?.on(ackEvent, acknowledge)
    current = next
  }

  function acknowledge({ attrs }: BaileysAck): void {
    const { id = '', t, error } = attrs
    const seconds = error === undefined ? Number(t) : Number.NaN
    const at = seconds > 0 ? seconds * 1000 : undefined
    waiting.get(id)?.(at)
    acks.set(id, at)
    for (const oldest of [...acks.keys()].slice(0, -most)) acks.delete(oldest)
  }

  /** It may have come before the call that sent it resolved. */
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

  function hear(updates: BaileysEvents['messages.update']): void {
    for (const update of updates) {
      const id = toRevoked(update)
      if (id !== undefined) gone.add(id)
    }
    for (const oldest of [...gone].slice(0, -most)) gone.delete(oldest)
  }

  function remember(ref: string, message: BaileysQuoted, at: number): void {
    // An edit makes it no younger.
    known.set(ref, { message, at: known.get(ref)?.at ?? at })
    for (const oldest of [...known.keys()].slice(0, -most)) known.delete(oldest)
  }
}

/** A message's id, and of others' messages whose it is: nobody could answer it otherwise. */
export function refOf({ id, fromMe, participant, remoteJid }: BaileysQuoted['key']): string {
  return fromMe ? id : `${id}/${participant ?? remoteJid}`
}

/** Of a message that was not seen here, as after a restart: enough to answer it, without its words. */
export function keyOf(ref: string, jid: string): BaileysQuoted['key'] {
  const [id = ref, author] = ref.split('/')
  if (author === undefined) return { remoteJid: jid, fromMe: true, id }
  // The person may have written under another of their ids than the chat's.
  return isPerson(jid)
    ? { remoteJid: author, fromMe: false, id }
    : { remoteJid: jid, fromMe: false, id, participant: author }
}

/**
 * A message as it is quoted in that chat. The author keeps the id that WhatsApp used; another `remoteJid` than the chat's would
 * make it a quotation from elsewhere (`generateWAMessageFromContent` of Baileys).
 */
export function quotableIn(jid: string, { key, message }: BaileysQuoted): BaileysQuoted {
  if (key.fromMe) return { key, message }
  return { key: { ...key, remoteJid: jid, participant: key.participant ?? key.remoteJid }, message }
}

export function chatOf(jid: string): Chat {
  return { id: jid, kind: isPerson(jid) ? 'private' : 'shared' }
}
