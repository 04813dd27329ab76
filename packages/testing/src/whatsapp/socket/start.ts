import { realClock, type TestClock } from '../../clock.ts'
import { TestingError } from '../../error.ts'
import { createObservers, type FakePlatform } from '../../platform/fake.ts'
import { createFaultPlan } from '../../platform/fault.ts'
import { readWhatsApp, type WhatsAppEntity } from '../formatted.ts'
import { createAccount, type SocketPost } from './account.ts'
import { replacedError } from './boom.ts'
import { matchesSocket, type SocketFault } from './fault.ts'
import { type BaileysCall, createSocket, type FakeSocket, type SocketHandle } from './socket.ts'

/** The account, and the faults. */
export interface BaileysOptions {
  /** The clock for edits, their window and typing. Default: the system's. */
  readonly clock?: TestClock
  /** The faults to apply. Default: none. */
  readonly faults?: readonly SocketFault[]
  /**
   * How far the computer's clock is ahead of the server's, in ms. Baileys stamps sent messages with the computer's
   * time. Default 0.
   */
  readonly aheadMs?: number
  /** The LIDs' numbers that the login knows. Default none. */
  readonly numbers?: Readonly<Record<string, string>>
  /** The administrators of each group, by number or LID. Default none. */
  readonly admins?: Readonly<Record<string, readonly string[]>>
}

/** A message as a person sees it. */
export interface BaileysMessage {
  /** The id in its message key. */
  readonly id: string
  /** "me", or the author's jid. */
  readonly from: string
  /** The text as displayed, with its marks applied. */
  readonly text: string
  /** The formats of ranges of `text`. Empty if there are none. */
  readonly entities: readonly WhatsAppEntity[]
  /** As sent. */
  readonly source: string
  /** How often it was edited. */
  readonly editedTimes: number
  /** The id of the message that it replies to. */
  readonly replyTo: string | undefined
  /** The attached file, if any. */
  readonly document: { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array } | undefined
  /** A picture that the app shows, with the text as its caption. */
  readonly picture: { readonly mediaType: string; readonly bytes: Uint8Array } | undefined
  /** The account's emoji below it, if any. */
  readonly reaction: string | undefined
  /** Whether the account marked it as read. */
  readonly isRead: boolean
}

/** A WhatsApp account, and the sockets that a host links to it. */
export interface FakeBaileys
  extends FakePlatform<string, BaileysCall, SocketFault, BaileysMessage, BaileysCall['kind']> {
  /** Connects another socket, like an open one from `makeWASocket()`. Messages since the last one arrive as history. */
  connect(): FakeSocket
  /** Breaks the connection: every call of this socket fails from now on. Does nothing without an open socket. */
  drop(): void
  /** Whether the newest socket is open. */
  readonly isConnected: boolean
  /** How many listeners the current socket has. */
  readonly listening: number
  /** Whether the typing indicator shows there now. */
  typing(jid: string): boolean
  /** People mentioned in a message. They would be notified. */
  readonly mentioned: readonly string[]
  /** Messages edited after more than 15 min: accepted, but not displayed. */
  readonly lateEdits: readonly string[]
  /** Writes a message as another person. Returns its id. */
  say(jid: string, text: string, options?: BaileysSay): string
  /**
   * Revokes a message for everyone, as its author, and the socket emits it. With `by`, another person tries, in the
   * group or from that private chat. The apps ignore that unless it is an administrator of the group, but the socket
   * emits it.
   */
  revoke(jid: string, id: string, options?: { readonly by?: string }): void
  /** Refuses a message after it was sent, as WhatsApp does. It is removed, and the socket emits it. */
  refuse(jid: string, id: string, reason: string): void
}

const user = { id: '4915100000000:7@s.whatsapp.net', lid: '999999999999999:7@lid' }

/** Returns a fake of a WhatsApp account that programs use through Baileys, without chats or a connected socket. */
export function createFakeBaileys(options: BaileysOptions = {}): FakeBaileys {
  const { clock = realClock, faults = [], aheadMs = 0, numbers = {}, admins = {} } = options
  const calls: BaileysCall[] = []
  const { observe, changed } = createObservers<string>()
  const plan = createFaultPlan(faults, matchesSocket)
  const account = createAccount(clock, aheadMs, changed)
  let current: SocketHandle | undefined
  let missed: unknown[] = []
  let sockets = 0
  let messages = 0
  return {
    connect,
    drop: () => current?.close(),
    get isConnected() {
      return current?.isOpen === true
    },
    get listening() {
      return current?.listening ?? 0
    },
    calls,
    count: (kind) => calls.filter((call) => call.kind === kind).length,
    screen: (jid) => [...account.chat(jid).posts.values()].map(messageShown),
    notifications: (jid) => account.chat(jid).notifications,
    typing: (jid) => account.chat(jid).typingUntil > clock.now(),
    mentioned: account.mentioned,
    lateEdits: account.lateEdits,
    inject: plan.add,
    observe,
    say,
    revoke: (jid, id, { by } = {}) => {
      // As `processMessage` of Baileys does it: the key of the revoking message, with the id that it names.
      const taken = by === undefined || admins[jid]?.includes(by) ? removePost(jid, id) : undefined
      const place = jid.endsWith('@g.us') ? { remoteJid: jid, participant: by } : { remoteJid: by }
      const key = by === undefined ? taken : { ...place, fromMe: false, id }
      current?.emit('messages.update', [{ key, update: { message: null, messageStubType: 1, key } }])
    },
    refuse: (jid, id, reason) => {
      const key = removePost(jid, id)
      current?.emit('messages.update', [{ key, update: { status: 0, messageStubParameters: [reason] } }])
    },
  }

  /**
   * Connects another socket, and closes the former. It emits that it opened, and the messages that were missed, in
   * the next microtask.
   */
  function connect(): FakeSocket {
    current?.close(replacedError())
    sockets += 1
    const handle = createSocket({
      account,
      user,
      plan,
      number: sockets,
      now: clock.now,
      calls,
      numberOf: (lid) => numbers[lid],
      adminsOf: (jid) => admins[jid] ?? [],
    })
    current = handle
    const messages = missed
    missed = []
    queueMicrotask(() => {
      handle.emit('connection.update', { connection: 'open' })
      if (messages.length > 0) handle.emit('messages.upsert', { messages, type: 'append' })
    })
    return handle.socket
  }

  /** Adds the message, and the open socket emits it. Without one, it waits for the next. Returns its id. */
  function say(jid: string, text: string, options: BaileysSay = {}): string {
    const {
      from = '111111111111111@lid',
      name = 'Ada',
      alt,
      replyTo,
      isMine = false,
      isEphemeral = false,
      isForwarded = false,
      wrappers = [],
      mention = false,
      file,
      albumId,
    } = options
    messages += 1
    const id = `3A${String(messages).padStart(16, '0')}`
    const inGroup = jid.endsWith('@g.us')
    account.addPost(jid, { id, from: isMine ? 'me' : inGroup ? from : jid, source: text, ...(replyTo && { replyTo }) })
    const cited = replyTo === undefined ? undefined : account.chat(jid).posts.get(replyTo)
    const by = cited?.from === 'me' ? user.id.replace(/:\d+/, '') : cited?.from
    const quoting = replyTo && {
      stanzaId: replyTo,
      participant: by,
      quotedMessage: { conversation: cited?.source ?? '' },
    }
    // As `generateForwardMessageContent` of Baileys does it.
    const passedOn = isForwarded && { isForwarded: true, forwardingScore: 1 }
    const own = user.id.replace(/:\d+/, '')
    const naming = mention && { mentionedJid: [own] }
    const contextInfo = { ...quoting, ...passedOn, ...naming }
    const withMention = mention ? `@${own.split('@')[0]} ${text}` : text
    const content = file
      ? file.isVoice
        ? { audioMessage: { ...mediaOf(file), ptt: true, seconds: 1, contextInfo } }
        : file.isPicture
          ? { imageMessage: { ...mediaOf(file), caption: withMention, contextInfo } }
          : { documentMessage: { ...mediaOf(file), fileName: file.name, caption: withMention, contextInfo } }
      : quoting || passedOn || naming
        ? { extendedTextMessage: { text: withMention, contextInfo } }
        : { conversation: text }
    const message = {
      key: {
        remoteJid: jid,
        fromMe: isMine,
        id,
        ...(inGroup ? { participant: from } : {}),
        ...otherIdOf(inGroup, alt),
      },
      pushName: name,
      messageTimestamp: Math.floor(clock.now() / 1000),
      message: [...(isEphemeral ? ['ephemeralMessage'] : []), ...wrappers].reduceRight<object>(
        (message, wrapper) => ({ [wrapper]: { message } }),
        { ...content, ...(albumId !== undefined && albumInfo(albumId)) },
      ),
    }
    if (current?.isOpen) current.emit('messages.upsert', { messages: [message], type: 'notify' })
    else missed.push(message)
    return id
  }

  /** Removes a message, and returns its key. Throws a `TestingError` if there is none. */
  function removePost(jid: string, id: string): { remoteJid: string; fromMe: boolean; id: string } {
    const post = account.chat(jid).posts.get(id)
    if (!post) throw new TestingError('whatsapp', `There is no message ${id} in chat ${jid}.`)
    account.chat(jid).posts.delete(id)
    account.changed(jid)
    return { remoteJid: jid, fromMe: post.from === 'me', id }
  }
}

/** A message as a person sees it. An empty reaction counts as none. */
function messageShown({
  id,
  from,
  source,
  editedTimes,
  replyTo,
  document,
  picture,
  reaction,
  isRead,
}: SocketPost): BaileysMessage {
  return {
    id,
    from,
    ...readWhatsApp(source),
    source,
    editedTimes,
    replyTo,
    document,
    picture,
    reaction: reaction || undefined,
    isRead: isRead === true,
  }
}

/**
 * Returns a key's fields with the person's other id, the participant's in a group, else the chat's, as
 * `decodeMessageNode` of Baileys does. Empty without one.
 */
function otherIdOf(inGroup: boolean, otherId: string | undefined): Readonly<Record<string, string>> {
  if (otherId === undefined) return {}
  const addressingMode = otherId.endsWith('@lid') ? 'pn' : 'lid'
  return inGroup ? { participantAlt: otherId, addressingMode } : { remoteJidAlt: otherId, addressingMode }
}

/** Which person writes, and how the message came about. */
export interface BaileysSay {
  /** In a group: the author. Default "111111111111111@lid". */
  readonly from?: string
  /** The author's other id: the number of a LID, or the LID of a number. Default: WhatsApp sends none. */
  readonly alt?: string
  /** Whether it was forwarded. Default false. */
  readonly isForwarded?: boolean
  /** Default "Ada". */
  readonly name?: string
  /** The id of the message that it replies to. */
  readonly replyTo?: string
  /** Whether it begins with a mention of this account. Default false. */
  readonly mention?: boolean
  /** A document. The text is its caption, and may be empty. */
  readonly file?: {
    readonly name: string
    readonly bytes: Uint8Array
    readonly mime?: string
    /** Whether it is a recording instead, which has no name and no caption. Default false. */
    readonly isVoice?: boolean
    /** Whether it is a picture instead, which has no name. Default false. */
    readonly isPicture?: boolean
  }
  /** The id of the album that the picture belongs to. Default: none. */
  readonly albumId?: string
  /** Whether it was written on the phone of this account. Default false. */
  readonly isMine?: boolean
  /** Whether it is in a chat with disappearing messages. Default false. */
  readonly isEphemeral?: boolean
  /**
   * The wrappers around its content, from the outside, by their names in Baileys' `proto.IMessage`, such as
   * "viewOnceMessageV2". Default none.
   */
  readonly wrappers?: readonly string[]
}

/** Where Baileys' `proto.MessageContextInfo` names the album of a message. A `MEDIA_ALBUM` is 1. */
function albumInfo(id: string): object {
  return { messageContextInfo: { messageAssociation: { associationType: 1, parentMessageKey: { id } } } }
}

/**
 * Returns a file as `prepareWAMessageMedia` of Baileys makes it. Nothing is encrypted here: the path holds the content.
 */
function mediaOf({ bytes, mime = 'text/plain' }: NonNullable<BaileysSay['file']>): object {
  const directPath = `/${Buffer.from(bytes).toString('base64url')}`
  return { mimetype: mime, fileLength: bytes.length, mediaKey: new Uint8Array(32), directPath }
}
