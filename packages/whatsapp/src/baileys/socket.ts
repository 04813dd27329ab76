import type { Clock } from '@reply/core'
import { PortError } from '@reply/sink/channel'
import { createRecent } from '@reply/sink/internal'
import {
  type BaileysAck,
  type BaileysEvents,
  type BaileysQuoted,
  type BaileysSocket,
  type BaileysSource,
  isLid,
  isNumber,
  isPerson,
  withoutDevice,
} from './api.ts'
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
  /** Forgets what WhatsApp said of a message, before it is sent again under its id. */
  forgetAck(id: string): void
  /**
   * When WhatsApp accepted the message, by its clock, in ms since the epoch; undefined if it accepted it without a time.
   * Rejects with `ambiguous` if the connection closes first or no acknowledgement comes in time, and if WhatsApp
   * refused the message.
   */
  takenAt(id: string, clock: Clock): Promise<number | undefined>
  readonly identities: Identities
  /** Stops listening to the socket. */
  close(): void
}

/** How many messages to keep; the oldest are dropped. */
const most = 1000

/** How long to wait for an acknowledgement, in ms. The server sends it within a round trip. */
const ackMs = 10_000

/** Who waits for an acknowledgement. */
interface Waiting {
  resolve(attrs: BaileysAck['attrs']): void
  reject(error: PortError): void
}

const lost = new PortError('ambiguous', 'The connection closed before WhatsApp acknowledged the message.')

/** Codes of `SERVER_ERROR_CODES` in Baileys' `Utils/decode-wa-message.ts`, and what to do. */
const cures: Readonly<Record<string, string>> = {
  463: 'WhatsApp restricts this account: it may not write to new people for a while. Let the person write first.',
  479: 'Link the device again if this goes on.',
}

/** As in HTTP, codes from 500 on are failures of the server. */
function refusalOf(code: string): PortError {
  const says = [`WhatsApp refused the message (${code}).`, cures[code]].filter(Boolean).join(' ')
  return new PortError(Number(code) >= 500 ? 'unreachable' : 'refused', says)
}

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
  const acks = createRecent<BaileysAck['attrs'] | undefined>(most)
  const waiting = new Map<string, Waiting>()
  let current: BaileysSocket | undefined
  let isClosed = false
  const now = (): BaileysSocket | undefined => (typeof source === 'function' ? source() : source)
  const identities = createIdentities(now)
  return {
    socket,
    forgetAck: (id) => acks.set(id, undefined),
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
    current?.ev.off('connection.update', lookAt)
    current?.ws.off(ackEvent, acknowledge)
    next?.ev.on('messages.update', receive)
    next?.ev.on('connection.update', lookAt)
    next?.ws.on(ackEvent, acknowledge)
    current = next
    isClosed = false
    loseAll()
  }

  function lookAt({ connection }: BaileysEvents['connection.update']): void {
    if (connection !== 'close') return
    isClosed = true
    loseAll()
  }

  /** No acknowledgement comes over another connection. */
  function loseAll(): void {
    for (const { reject } of [...waiting.values()]) reject(lost)
  }

  function acknowledge({ attrs }: BaileysAck): void {
    const { id = '' } = attrs
    acks.set(id, attrs)
    waiting.get(id)?.resolve(attrs)
  }

  async function takenAt(id: string, clock: Clock): Promise<number | undefined> {
    // The acknowledgement may arrive before the sending call resolves.
    const { t, error } = acks.get(id) ?? (await acknowledged(id, clock))
    if (error !== undefined) throw refusalOf(error)
    const seconds = Number(t)
    return seconds > 0 ? seconds * 1000 : undefined
  }

  async function acknowledged(id: string, clock: Clock): Promise<BaileysAck['attrs']> {
    if (isClosed) throw lost
    let stop = (): void => {}
    try {
      return await new Promise<BaileysAck['attrs']>((resolve, reject) => {
        const late = `WhatsApp did not acknowledge the message within ${ackMs} ms.`
        stop = clock.after(ackMs, () => reject(new PortError('ambiguous', late)))
        waiting.set(id, { resolve, reject })
      })
    } finally {
      stop()
      waiting.delete(id)
    }
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

/**
 * WhatsApp names one person by number (`…@s.whatsapp.net`) in one message and by LID (`…@lid`) in another, and often
 * both (`participantAlt`, `remoteJidAlt` of Baileys' keys). A chat or an actor has one id: the number if it is known,
 * else the LID.
 */
export interface Identities {
  /** Never rejects. `alt` is the same person's other id, if the message has it. */
  personOf(jid: string, alt: string | undefined): Promise<string>
}

/** How many LIDs to keep; the login itself knows more. */
const mostLids = 1000

function createIdentities(socket: () => BaileysSocket | undefined): Identities {
  const numbers = createRecent<string>(mostLids)
  return {
    personOf: async (jid, alt) => {
      const id = withoutDevice(jid)
      const other = alt === undefined ? undefined : withoutDevice(alt)
      if (!isLid(id)) {
        if (other !== undefined && isLid(other) && isNumber(id)) numbers.set(other, id)
        return id
      }
      if (other !== undefined && isNumber(other)) numbers.set(id, other)
      const known = numbers.get(id) ?? (await lookUp(id))
      if (known !== undefined) numbers.set(id, known)
      return known ?? id
    },
  }

  /** Asks the login, which may fail on a closed socket. */
  async function lookUp(lid: string): Promise<string | undefined> {
    try {
      const found = await socket()?.signalRepository?.lidMapping.getPNForLID(lid)
      const number = found ? withoutDevice(found) : undefined
      return number !== undefined && isNumber(number) ? number : undefined
    } catch {
      // The LID identifies the person too.
      return undefined
    }
  }
}
