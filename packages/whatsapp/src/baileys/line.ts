import { type Chat, PortError } from '@reply/sink'
import type { BaileysEvents, BaileysQuoted, BaileysSocket, BaileysSource } from './api.ts'
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
  /** Ends listening. */
  close(): void
}

/** So many messages are remembered. */
const most = 1000

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
  let current: BaileysSocket | undefined
  return {
    socket,
    remember,
    recall: (ref) => known.get(ref),
    isGone: (id) => gone.has(id),
    close: () => listen(undefined),
  }

  function socket(): BaileysSocket {
    const next = typeof source === 'function' ? source() : source
    listen(next)
    if (next) return next
    throw new PortError('unreachable', 'There is no socket at the moment: WhatsApp is not connected.')
  }

  function listen(next: BaileysSocket | undefined): void {
    if (next === current) return
    current?.ev.off('messages.update', hear)
    next?.ev.on('messages.update', hear)
    current = next
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
  const inGroup = author !== undefined && author !== jid ? { participant: author } : {}
  return { remoteJid: jid, fromMe: author === undefined, id, ...inGroup }
}

/** People's ids end so; groups end in `@g.us`. */
export function chatOf(jid: string): Chat {
  return { id: jid, kind: /@(?:s\.whatsapp\.net|lid)$/.test(jid) ? 'private' : 'shared' }
}
