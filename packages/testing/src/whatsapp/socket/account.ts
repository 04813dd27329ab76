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
  readonly picture?: { readonly mediaType: string; readonly bytes: Uint8Array }
  readonly reaction?: string
  readonly isRead?: true
}

interface SocketChat {
  readonly posts: Map<string, SocketPost>
  editedAt: number
  typingUntil: number
  notifications: number
}

/** WhatsApp's state of an account, independent of the connected socket. */
export interface SocketAccount {
  /** The chat with this person or group, which begins empty. */
  chat(jid: string): SocketChat
  /** Returns the message that `sendMessage` makes of its arguments, without sending it. Its time is the computer's. */
  makeMessage(jid: string, content: Fields, options: Fields): Fields
  /**
   * Deletes, reacts, edits or posts, by the content's fields. Posts nothing if a message with its id exists. Throws a
   * `SocketBoom` for the server's refusals, and a `TypeError` for a malformed text or quoted message.
   */
  applyMessage(jid: string, made: Fields, content: Fields, options: Fields): void
  /**
   * Adds a message, and notifies observers. The account's own notifies, and ends its typing indicator there. Replaces a
   * message with the same id.
   */
  addPost(jid: string, post: Omit<SocketPost, 'at' | 'editedTimes'>): SocketPost
  /** Notifies observers that a person in this chat now sees something else. */
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

/**
 * Returns an account without chats. `aheadMs` is how far the computer's clock is ahead of the server's. `changed` gets
 * the jid of each chat that now looks different.
 */
export function createAccount(clock: TestClock, aheadMs: number, changed: (jid: string) => void): SocketAccount {
  const chats = new Map<string, SocketChat>()
  const mentioned: string[] = []
  const lateEdits: string[] = []
  let messages = 0
  return { chat, makeMessage, applyMessage, addPost, changed, mentioned, lateEdits }

  /** Returns the chat with this person or group, which begins empty. */
  function chat(jid: string): SocketChat {
    const existing = chats.get(jid)
    if (existing) return existing
    const fresh = { posts: new Map(), editedAt: Number.NEGATIVE_INFINITY, typingUntil: 0, notifications: 0 }
    chats.set(jid, fresh)
    return fresh
  }

  /**
   * Adds a message, in place of one with the same id, and notifies observers. The account's own notifies, and ends its
   * typing indicator there.
   */
  function addPost(jid: string, post: Omit<SocketPost, 'at' | 'editedTimes'>): SocketPost {
    const place = chat(jid)
    const added = { ...post, at: clock.now(), editedTimes: 0 }
    place.posts.set(post.id, added)
    if (post.from === 'me') {
      place.notifications += 1
      place.typingUntil = 0
    }
    changed(jid)
    return added
  }

  /**
   * Returns the message that `sendMessage` makes of its arguments, without sending it. Uses the id in the options,
   * else a new one. Its time is the computer's.
   */
  function makeMessage(jid: string, content: Fields, options: Fields): Fields {
    const id = typeof options.messageId === 'string' ? options.messageId : nextMessageId()
    return {
      key: { remoteJid: jid, fromMe: true, id },
      // The computer's time, as in `generateWAMessageFromContent` of Baileys.
      messageTimestamp: Math.floor((clock.now() + aheadMs) / 1000),
      status: 1,
      message: { conversation: String(content.text ?? content.caption ?? '') },
    }
  }

  /**
   * Deletes, reacts, edits or posts, by the content's fields. Posts nothing if a message with its id exists. Throws for
   * the server's refusals.
   */
  function applyMessage(jid: string, made: Fields, content: Fields, options: Fields): void {
    const id = String(fieldsOf(made.key).id)
    if (content.delete !== undefined) removeMessage(jid, fieldsOf(content.delete))
    else if (content.react !== undefined) react(jid, fieldsOf(content.react))
    else if (content.edit !== undefined) editMessage(jid, content)
    else if (!chat(jid).posts.has(id)) postMessage(jid, id, content, options)
  }

  /**
   * Adds a message of the account, and its mentions. Throws a `TypeError` for a quoted message without content, and a
   * `SocketBoom` for a text that is too long. The mentions are added even then.
   */
  function postMessage(jid: string, id: string, content: Fields, options: Fields): void {
    const names = [content.mentions, fieldsOf(content.contextInfo).mentionedJid].flatMap((list) =>
      Array.isArray(list) ? list : [],
    )
    mentioned.push(...names.map(String), ...(content.mentionAll === true ? ['all'] : []))
    const quoted = fieldsOf(options.quoted)
    // The real one throws if it can't copy the quoted message.
    if (options.quoted !== undefined && quoted.message === undefined)
      throw new TypeError("Cannot read properties of undefined (reading 'undefined')")
    const replyTo = fieldsOf(quoted.key).id
    addPost(jid, {
      id,
      from: 'me',
      source: validText(content),
      ...(typeof replyTo === 'string' && { replyTo }),
      ...(content.document instanceof Uint8Array && {
        document: { name: String(content.fileName), mediaType: String(content.mimetype), bytes: content.document },
      }),
      ...(content.image instanceof Uint8Array && {
        picture: { mediaType: String(content.mimetype), bytes: content.image },
      }),
    })
  }

  /**
   * Replaces the text of one of the account's messages. Ignores messages of others and unknown ones. Adds the id of one
   * older than 15 min to `lateEdits` instead. Throws a `SocketBoom` less than 3 s after the last edit in the chat, even
   * an ignored one, and for a text that is too long.
   */
  function editMessage(jid: string, content: Fields): void {
    const place = chat(jid)
    const now = clock.now()
    if (now - place.editedAt < socketLimits.editIntervalMs) throw new SocketBoom(429, 'rate-overlimit')
    place.editedAt = now
    const id = String(fieldsOf(content.edit).id)
    const post = place.posts.get(id)
    // An app that doesn't know the message, or gets the edit too late, skips it.
    if (post?.from !== 'me') return
    if (now - post.at > socketLimits.editMs) {
      lateEdits.push(id)
      return
    }
    place.posts.set(id, { ...post, source: validText(content), editedTimes: post.editedTimes + 1 })
    changed(jid)
  }

  /** Removes one of the account's messages. Keeps messages of others. Notifies observers in any case. */
  function removeMessage(jid: string, key: Fields): void {
    const { posts } = chat(jid)
    if (posts.get(String(key.id))?.from === 'me') posts.delete(String(key.id))
    changed(jid)
  }

  /**
   * Sets the account's emoji below a message. An empty text removes it. Ignores unknown messages. Notifies observers in
   * any case.
   */
  function react(jid: string, { key, text }: Fields): void {
    const { posts } = chat(jid)
    const id = String(fieldsOf(key).id)
    const post = posts.get(id)
    if (post) posts.set(id, { ...post, reaction: String(text) })
    changed(jid)
  }

  /** Returns a new id, as long as Baileys' own. */
  function nextMessageId(): string {
    messages += 1
    return `3EB0${createHash('sha256').update(String(messages)).digest('hex').toUpperCase().slice(0, 18)}`
  }
}

/**
 * Returns the text, else the caption, else "". Throws a `SocketBoom` if it is too long, and a `TypeError` if it isn't
 * text.
 */
function validText(content: Fields): string {
  const text = content.text ?? content.caption ?? ''
  if (typeof text !== 'string') throw new TypeError('text is not a string')
  if (text.length > socketLimits.text) throw new SocketBoom(406, 'not-acceptable')
  return text
}
