import { createHash } from 'node:crypto'
import type { TestClock } from '../../clock.ts'
import { type Fields, fieldsOf } from '../../fields.ts'
import { SocketBoom } from './boom.ts'

export interface SocketPost {
  readonly id: string
  /** "me", or the author's jid. */
  readonly from: string
  readonly at: number
  readonly source: string
  readonly editedTimes: number
  readonly replyTo?: string
  readonly document?: { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array }
  readonly reaction?: string
  readonly isRead?: true
}

interface SocketChat {
  readonly posts: Map<string, SocketPost>
  editedAt: number
  typingUntil: number
  loud: number
}

/** WhatsApp's state of an account, independent of the connected socket. */
export interface SocketAccount {
  chat(jid: string): SocketChat
  /** The message that `sendMessage` makes of its arguments. */
  make(jid: string, content: Fields, options: Fields): Fields
  /** Applies such a message. Throws the server's refusals. */
  send(jid: string, made: Fields, content: Fields, options: Fields): void
  put(jid: string, post: Omit<SocketPost, 'at' | 'editedTimes'>): SocketPost
  changed(jid: string): void
  /** People mentioned in a message. They would be notified. */
  readonly mentioned: readonly string[]
  /** Edits after more than 15 min: accepted, but not displayed. */
  readonly lateEdits: readonly string[]
}

/** What linked devices may do, according to reports by users. */
export const socketLimits = {
  /** UTF-16 units. The apps accept no more. */
  text: 65_536,
  /** The apps ignore an edit after that. */
  editMs: 900_000,
  /** Edits in one chat at shorter intervals are refused, and bring the number close to a ban. */
  editIntervalMs: 3000,
  /** How long "typing…" shows. */
  typingMs: 10_000,
} as const

interface AccountOptions {
  readonly clock: TestClock
  /** How far the computer's clock is ahead, in ms. */
  readonly aheadMs: number
}

export function createAccount({ clock, aheadMs }: AccountOptions, changed: (jid: string) => void): SocketAccount {
  const chats = new Map<string, SocketChat>()
  const mentioned: string[] = []
  const lateEdits: string[] = []
  let sent = 0
  return { chat, make, send, put, changed, mentioned, lateEdits }

  function chat(jid: string): SocketChat {
    const known = chats.get(jid)
    if (known) return known
    const fresh = { posts: new Map(), editedAt: Number.NEGATIVE_INFINITY, typingUntil: 0, loud: 0 }
    chats.set(jid, fresh)
    return fresh
  }

  function put(jid: string, post: Omit<SocketPost, 'at' | 'editedTimes'>): SocketPost {
    const where = chat(jid)
    const whole = { ...post, at: clock.now(), editedTimes: 0 }
    where.posts.set(post.id, whole)
    if (post.from === 'me') {
      where.loud += 1
      where.typingUntil = 0
    }
    changed(jid)
    return whole
  }

  function make(jid: string, content: Fields, options: Fields): Fields {
    const id = typeof options.messageId === 'string' ? options.messageId : nextId()
    return {
      key: { remoteJid: jid, fromMe: true, id },
      // The computer's time, as in `generateWAMessageFromContent` of Baileys.
      messageTimestamp: Math.floor((clock.now() + aheadMs) / 1000),
      status: 1,
      message: { conversation: String(content.text ?? content.caption ?? '') },
    }
  }

  function send(jid: string, made: Fields, content: Fields, options: Fields): void {
    const id = String(fieldsOf(made.key).id)
    if (content.delete !== undefined) remove(jid, fieldsOf(content.delete))
    else if (content.react !== undefined) react(jid, fieldsOf(content.react))
    else if (content.edit !== undefined) edit(jid, content)
    // An existing message with that id is kept.
    else if (!chat(jid).posts.has(id)) post(jid, { id, content, options })
  }

  function post(jid: string, { id, content, options }: { id: string; content: Fields; options: Fields }): void {
    const names = [content.mentions, fieldsOf(content.contextInfo).mentionedJid].flatMap((list) =>
      Array.isArray(list) ? list : [],
    )
    mentioned.push(...names.map(String), ...(content.mentionAll === true ? ['all'] : []))
    const quoted = fieldsOf(options.quoted)
    // The real one throws if it can't copy the quoted message.
    if (options.quoted !== undefined && quoted.message === undefined)
      throw new TypeError("Cannot read properties of undefined (reading 'undefined')")
    const replyTo = fieldsOf(quoted.key).id
    put(jid, {
      id,
      from: 'me',
      source: textIn(content),
      ...(typeof replyTo === 'string' && { replyTo }),
      ...(content.document instanceof Uint8Array && {
        document: { name: String(content.fileName), mediaType: String(content.mimetype), bytes: content.document },
      }),
    })
  }

  function edit(jid: string, content: Fields): void {
    const where = chat(jid)
    const now = clock.now()
    if (now - where.editedAt < socketLimits.editIntervalMs) throw new SocketBoom(429, 'rate-overlimit')
    where.editedAt = now
    const id = String(fieldsOf(content.edit).id)
    const known = where.posts.get(id)
    // Ignored: an app that doesn't know the message, or gets the edit too late, skips it.
    if (known?.from !== 'me') return
    if (now - known.at > socketLimits.editMs) {
      lateEdits.push(id)
      return
    }
    where.posts.set(id, { ...known, source: textIn(content), editedTimes: known.editedTimes + 1 })
    changed(jid)
  }

  function remove(jid: string, key: Fields): void {
    const { posts } = chat(jid)
    if (posts.get(String(key.id))?.from === 'me') posts.delete(String(key.id))
    changed(jid)
  }

  function react(jid: string, { key, text }: Fields): void {
    const { posts } = chat(jid)
    const id = String(fieldsOf(key).id)
    const known = posts.get(id)
    if (known) posts.set(id, { ...known, reaction: String(text) })
    changed(jid)
  }

  function nextId(): string {
    sent += 1
    return `3EB0${createHash('sha256').update(String(sent)).digest('hex').toUpperCase().slice(0, 18)}`
  }
}

function textIn(content: Fields): string {
  const text = content.text ?? content.caption ?? ''
  if (typeof text !== 'string') throw new TypeError('text is not a string')
  if (text.length > socketLimits.text) throw new SocketBoom(406, 'not-acceptable')
  return text
}
