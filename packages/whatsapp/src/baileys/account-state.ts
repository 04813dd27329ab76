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
import { toDeletion } from './inbound.ts'

/**
 * One account's state across sockets. It keeps what a new socket doesn't report again: messages that can be quoted, when
 * they were posted, and which were deleted.
 */
export interface AccountState {
  /** Returns the current socket, and listens to it from now on. Throws `unreachable` without one. */
  requireSocket(): BaileysSocket
  /**
   * Stores a message that was posted or received at `at`, in ms by the channel's clock. A known ref keeps its first time
   * and gets the new text.
   */
  rememberMessage(ref: string, message: BaileysQuoted, at: number): void
  /** Returns undefined for a message that was never stored or has been dropped. */
  recallMessage(ref: string): RememberedMessage | undefined
  /** True if the account's own message in that chat was deleted for everyone. */
  isDeleted(jid: string, id: string): boolean
  /** Drops a message's acknowledgement, before it is sent again under its id. */
  forgetAck(id: string): void
  /**
   * Resolves with the time when WhatsApp accepted the message, by its clock, in ms since the epoch, or with undefined if
   * the acknowledgement has no time. Rejects with `ambiguous` if the connection closes first or no acknowledgement comes
   * within 10 s, and with `refused` or `unreachable` if WhatsApp did not accept the message.
   */
  waitForAck(id: string, clock: Clock): Promise<number | undefined>
  /** Finds the one id of a person who has two. */
  readonly identities: Identities
  /** Stops listening to the socket. */
  stopListening(): void
}

interface RememberedMessage {
  readonly message: BaileysQuoted
  readonly at: number
}

/** How many messages to keep. The oldest are dropped. */
const mostMessages = 1000

/** How long to wait for an acknowledgement, in ms. The server sends it within a round trip. */
const ackMs = 10_000

/** Settles a pending `waitForAck`. */
interface AckWaiter {
  resolve(attrs: BaileysAck['attrs']): void
  reject(error: PortError): void
}

const connectionLost = new PortError('ambiguous', 'The connection closed before WhatsApp acknowledged the message.')

/** How to fix a refusal, by its code: `SERVER_ERROR_CODES` in Baileys' `Utils/decode-wa-message.ts`. */
const cures: Readonly<Record<string, string>> = {
  463: 'WhatsApp restricts this account: it may not write to new people for a while. Let the person write first.',
  479: 'Link the device again if this continues.',
}

/**
 * Returns the error of a refused message: `refused`, or `unreachable` for codes from 500 on, which are failures of the
 * server as in HTTP.
 */
function refusalError(code: string): PortError {
  const reason = [`WhatsApp refused the message (${code}).`, cures[code]].filter(Boolean).join(' ')
  return new PortError(Number(code) >= 500 ? 'unreachable' : 'refused', reason)
}

/** Baileys' event for acknowledgements. */
const ackEvent = 'CB:ack,class:message'

const states = new WeakMap<object, AccountState>()

/** Returns the state of a source's account. The first call creates it, and all users of the source share it. */
export function sharedAccountState(source: BaileysSource): AccountState {
  const state = states.get(source) ?? createAccountState(source)
  states.set(source, state)
  return state
}

/** Creates the state of one account: acknowledgements, newest messages, deletions and identities. */
function createAccountState(source: BaileysSource): AccountState {
  const messages = createRecent<RememberedMessage>(mostMessages)
  /** Keys: `chat/message`. */
  const deleted = createRecent<true>(mostMessages)
  const acks = createRecent<BaileysAck['attrs'] | undefined>(mostMessages)
  const waiters = new Map<string, AckWaiter>()
  let listenedTo: BaileysSocket | undefined
  let isClosed = false
  const currentSocket = (): BaileysSocket | undefined => (typeof source === 'function' ? source() : source)
  const identities = createIdentities(currentSocket)
  return {
    requireSocket,
    forgetAck: (id) => acks.set(id, undefined),
    waitForAck,
    identities,
    rememberMessage,
    recallMessage: (ref) => messages.get(ref),
    isDeleted: (jid, id) => deleted.has(`${jid}/${id}`),
    stopListening: () => listenTo(undefined),
  }

  /** Returns the socket, and listens to it from now on. Throws `unreachable` without one. */
  function requireSocket(): BaileysSocket {
    const socket = currentSocket()
    listenTo(socket)
    if (socket) return socket
    throw new PortError('unreachable', 'WhatsApp is not connected at the moment: there is no socket.')
  }

  /** Moves the listeners to another socket. Does nothing for the same one. */
  function listenTo(socket: BaileysSocket | undefined): void {
    if (socket === listenedTo) return
    listenedTo?.ev.off('messages.update', recordDeletions)
    listenedTo?.ev.off('connection.update', rejectWaitersOnClose)
    listenedTo?.ws.off(ackEvent, recordAck)
    socket?.ev.on('messages.update', recordDeletions)
    socket?.ev.on('connection.update', rejectWaitersOnClose)
    socket?.ws.on(ackEvent, recordAck)
    listenedTo = socket
    isClosed = false
    rejectWaiters()
  }

  /**
   * Rejects the waits once the connection has closed. Later ones then reject at once, until there is another socket. Ignores
   * other changes of the connection.
   */
  function rejectWaitersOnClose({ connection }: BaileysEvents['connection.update']): void {
    if (connection !== 'close') return
    isClosed = true
    rejectWaiters()
  }

  /** Rejects all waits, because an acknowledgement never arrives over another connection. */
  function rejectWaiters(): void {
    for (const { reject } of [...waiters.values()]) reject(connectionLost)
  }

  /** Remembers an acknowledgement, and resolves the wait for it. */
  function recordAck({ attrs }: BaileysAck): void {
    const { id = '' } = attrs
    acks.set(id, attrs)
    waiters.get(id)?.resolve(attrs)
  }

  /**
   * Waits until WhatsApp has the message. Resolves with the server's time, in ms since the epoch, or with undefined if the
   * acknowledgement has none. Rejects if WhatsApp refused the message, and as `nextAck` does.
   */
  async function waitForAck(id: string, clock: Clock): Promise<number | undefined> {
    // The acknowledgement may arrive before the sending call resolves.
    const { t, error } = acks.get(id) ?? (await nextAck(id, clock))
    if (error !== undefined) throw refusalError(error)
    const seconds = Number(t)
    return seconds > 0 ? seconds * 1000 : undefined
  }

  /** Waits for an acknowledgement. Rejects with `ambiguous` on a closed connection, and after `ackMs`. */
  async function nextAck(id: string, clock: Clock): Promise<BaileysAck['attrs']> {
    if (isClosed) throw connectionLost
    let stopTimer = (): void => {}
    try {
      return await new Promise<BaileysAck['attrs']>((resolve, reject) => {
        const late = `WhatsApp did not acknowledge the message within ${ackMs} ms.`
        stopTimer = clock.after(ackMs, () => reject(new PortError('ambiguous', late)))
        waiters.set(id, { resolve, reject })
      })
    } finally {
      stopTimer()
      waiters.delete(id)
    }
  }

  /**
   * Remembers which messages were deleted. Ignores other updates, and deletions by members of a group who are not
   * administrators.
   */
  function recordDeletions(updates: BaileysEvents['messages.update']): void {
    for (const update of updates) {
      const deletion = toDeletion(update)
      if (!deletion) continue
      const { jid, otherJid, id, deletedBy } = deletion
      if (deletedBy) {
        void isAdmin(jid, deletedBy).then((mayDelete) => mayDelete && deleted.set(`${jid}/${id}`, true))
        continue
      }
      deleted.set(`${jid}/${id}`, true)
      // The port may know the chat by the person's other id.
      if (isPerson(jid))
        void identities.personIdOf(jid, otherJid).then((personId) => deleted.set(`${personId}/${id}`, true))
    }
  }

  /**
   * Whether one of the ids is an administrator of the group. False if the group can't be read, for example on a closed
   * socket. The message then counts as not deleted.
   */
  async function isAdmin(group: string, memberIds: readonly string[]): Promise<boolean> {
    try {
      const { participants = [] } = (await listenedTo?.groupMetadata?.(group)) ?? {}
      return participants.some(
        ({ id, lid, phoneNumber, admin }) =>
          Boolean(admin) &&
          [id, lid, phoneNumber].some((jid) => jid !== undefined && memberIds.includes(withoutDevice(jid))),
      )
    } catch {
      return false
    }
  }

  /** Remembers a message to quote. A known ref keeps its original time, for example on an edit. */
  function rememberMessage(ref: string, message: BaileysQuoted, sentAt: number): void {
    messages.set(ref, { message, at: messages.get(ref)?.at ?? sentAt })
  }
}

/**
 * WhatsApp identifies one person by number (`…@s.whatsapp.net`) in one message and by LID (`…@lid`) in another, and often
 * by both (`participantAlt`, `remoteJidAlt` of Baileys' keys). A chat or an actor has one id: the number if it is known,
 * else the LID.
 */
export interface Identities {
  /**
   * Resolves with the person's one id, without the device. `otherJid` is their other id, if the message has it. Never rejects.
   */
  personIdOf(jid: string, otherJid: string | undefined): Promise<string>
}

/** How many LIDs to keep. The login has the others. */
const mostLids = 1000

/** Finds the one id of each person, and remembers which number a LID has. */
function createIdentities(currentSocket: () => BaileysSocket | undefined): Identities {
  /** By LID. */
  const numbers = createRecent<string>(mostLids)
  return {
    personIdOf: async (jid, otherJid) => {
      const id = withoutDevice(jid)
      const otherId = otherJid === undefined ? undefined : withoutDevice(otherJid)
      if (!isLid(id)) {
        if (otherId !== undefined && isLid(otherId) && isNumber(id)) numbers.set(otherId, id)
        return id
      }
      if (otherId !== undefined && isNumber(otherId)) numbers.set(id, otherId)
      const number = numbers.get(id) ?? (await readNumber(id))
      if (number !== undefined) numbers.set(id, number)
      return number ?? id
    },
  }

  /** Reads the number of a LID from the login. Resolves with undefined if it is unknown or the socket is closed. */
  async function readNumber(lid: string): Promise<string | undefined> {
    try {
      const jid = await currentSocket()?.signalRepository?.lidMapping.getPNForLID(lid)
      const number = jid ? withoutDevice(jid) : undefined
      return number !== undefined && isNumber(number) ? number : undefined
    } catch {
      // The LID identifies the person too.
      return undefined
    }
  }
}
