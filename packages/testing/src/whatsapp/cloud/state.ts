import type { TestClock } from '../../clock.ts'
import { type Fields, fieldsOf } from '../../fields.ts'
import { createBudget } from '../../platform/budget.ts'
import type { NamedFile } from '../../platform/payload.ts'
import { type CloudContent, readContent } from './content.ts'
import type { Hook } from './hook.ts'
import { cloudLimits, documentTypes, imageTypes } from './limits.ts'
import { CloudRefusal, invalidParameter, titles } from './refusal.ts'
import type { WhatsAppOptions } from './start.ts'

export interface CloudPost {
  readonly id: string
  readonly from: 'business' | 'person'
  readonly at: number
  readonly content: CloudContent
  readonly replyTo?: string
  readonly file?: NamedFile
  /** As posted: `biz_opaque_callback_data`. */
  readonly data?: string
  reaction?: string
}

/** The chat between one person and the business. */
interface CloudChat {
  readonly posts: Map<string, CloudPost>
  /** Time of the person's last message, or of the start: the business may answer for 24 h. */
  lastMessageAt: number
  typingUntil: number
  readonly read: Set<string>
  notifications: number
}

/** A file that a person sent. */
interface CloudInboxFile extends NamedFile {
  readonly mime: string
}

/** How a message fails that is accepted and then not delivered. */
export interface DeliveryFailure {
  /** The error that the webhook gets. */
  readonly code: number
  /** How long after the message, in ms. It is reported as sent before. Default: at once, and not as sent. */
  readonly afterMs?: number
}

/** How a message fails more than 24 h after the person's last one. */
const closedFailure: DeliveryFailure = { code: 131047 }

/** The server's state and the effects of its calls, which throw a `CloudRefusal`. */
export interface CloudState {
  readonly clock: TestClock
  readonly hook: Hook
  /** Files that people sent, by their media ids. */
  readonly inbox: Map<string, CloudInboxFile>
  /** The chat with a person, which begins empty. */
  chat(person: string): CloudChat
  /** A new `wamid`. */
  nextId(): string
  /**
   * Posts a message, reacts to one, or marks one as read, by the call's fields. Returns the body of the response.
   * `failure` is that of a message which is accepted and then not delivered.
   */
  sendMessage(fields: Fields, failure?: DeliveryFailure): unknown
  /** Stores a file of the business, and returns its media id. */
  uploadMedia(type: string, file: NamedFile | undefined): unknown
  /** Notifies observers that this person now sees something else. */
  changed(person: string): void
}

/**
 * Returns the state of the fake business number, without messages. `changed` gets each person who now sees something
 * else.
 */
export function createState(
  { listBody = cloudLimits.listBody, closedWindow = 'report' }: Pick<WhatsAppOptions, 'listBody' | 'closedWindow'>,
  clock: TestClock,
  hook: Hook,
  changed: (person: string) => void,
): CloudState {
  const chats = new Map<string, CloudChat>()
  const files = new Map<string, NamedFile>()
  const budget = createBudget(clock)
  const begunAt = clock.now()
  let ids = 0
  return { clock, hook, inbox: new Map(), chat, nextId, sendMessage, uploadMedia, changed }

  /** Returns the chat with a person. A new one is open for 24 h from the start of the fake. */
  function chat(person: string): CloudChat {
    const existing = chats.get(person)
    if (existing) return existing
    const fresh = {
      posts: new Map(),
      lastMessageAt: begunAt,
      typingUntil: 0,
      read: new Set<string>(),
      notifications: 0,
    }
    chats.set(person, fresh)
    return fresh
  }

  /** Returns a new id, opaque and as long as real ones. */
  function nextId(): string {
    ids += 1
    return `wamid.${Buffer.from(`fake message number ${String(ids).padStart(8, '0')}`).toString('base64')}`
  }

  /**
   * Marks a message as read if the call has a status, else reacts or posts. Throws a `CloudRefusal` for another
   * product, and if neither a number nor a user id is addressed.
   */
  function sendMessage(fields: Fields, failure?: DeliveryFailure): unknown {
    if (fields.messaging_product !== 'whatsapp') throw new CloudRefusal(100, '(#100) Invalid parameter')
    if (fields.status !== undefined) return markRead(fields)
    // A business-scoped user id has its own parameter.
    const person = fields.to ?? fields.recipient
    if (typeof person !== 'string' || person === '') throw invalidParameter('to is required')
    if (fields.to === undefined ? !/^[A-Z]{2}\.\w/.test(person) : !/^\+?\d+$/.test(person))
      throw invalidParameter('to is not a number')
    return fields.type === 'reaction' ? react(person, fieldsOf(fields.reaction)) : post(person, fields, failure)
  }

  /**
   * Adds a message, and reports its delivery to the webhook. One that isn't delivered, because of `failure` or 24 h
   * without a person's message, is only reported. A template may begin a conversation. Throws a `CloudRefusal` for
   * wrong content, for an unknown file, for a used-up budget, and after 24 h if the option says so.
   */
  function post(person: string, fields: Fields, failure: DeliveryFailure | undefined): unknown {
    const content = readContent(fields, listBody)
    const file = content.mediaId === undefined ? undefined : files.get(content.mediaId)
    if (content.mediaId !== undefined && !file) throw invalidParameter(`media ${content.mediaId} does not exist`)
    const place = chat(person)
    const data = callbackDataIn(fields)
    const isClosed = content.kind !== 'template' && clock.now() - place.lastMessageAt > cloudLimits.windowMs
    if (isClosed && closedWindow === 'refuse') throw refusalFor(131047)
    spend(person)
    const id = nextId()
    const replyTo = fieldsOf(fields.context).message_id
    const { code, afterMs } = isClosed ? closedFailure : (failure ?? {})
    const reportSent = (): void => hook.reportStatus({ id, person, status: 'sent', data })
    if (code !== undefined) {
      const reportFailed = (): void => hook.reportStatus({ id, person, status: 'failed', code, data })
      if (afterMs === undefined) reportFailed()
      else {
        reportSent()
        clock.after(afterMs, reportFailed)
      }
    } else {
      const answered = typeof replyTo === 'string' ? { replyTo } : {}
      const details = { ...answered, ...(file && { file }), ...(data !== undefined && { data }) }
      place.posts.set(id, { id, from: 'business', at: clock.now(), content, ...details })
      place.notifications += 1
      place.typingUntil = 0
      changed(person)
      reportSent()
      hook.reportStatus({ id, person, status: 'delivered', data })
    }
    return acceptedBody(person, id)
  }

  /**
   * Sets the business's emoji below a message. An empty one removes it. Throws a `CloudRefusal` if there is no such
   * message, and for a used-up budget.
   */
  function react(person: string, { message_id: messageId, emoji }: Fields): unknown {
    const post = chat(person).posts.get(String(messageId))
    if (!post) throw invalidParameter('the message to react to does not exist')
    spend(person)
    post.reaction = String(emoji)
    changed(person)
    return acceptedBody(person, nextId())
  }

  /** Takes a message from both budgets. Throws a `CloudRefusal` if the number's or the pair's is used up. */
  function spend(person: string): void {
    budget.spend([{ name: 'number', allowances: [cloudLimits.number] }], () => refusalFor(130429))
    budget.spend([{ name: `pair ${person}`, allowances: [cloudLimits.pair] }], () => refusalFor(131056))
  }

  /**
   * Marks a person's message as read, and shows "typing…" for 25 s if the call asks for it. Finds it in any chat,
   * because the call doesn't name a person. Throws a `CloudRefusal` if there is none.
   */
  function markRead({ message_id: id, typing_indicator: typing }: Fields): unknown {
    const found = [...chats].find(([, { posts }]) => posts.get(String(id))?.from === 'person')
    if (!found) throw invalidParameter('the message to mark as read does not exist')
    const [person, place] = found
    place.read.add(String(id))
    if (fieldsOf(typing).type === 'text') place.typingUntil = clock.now() + cloudLimits.typingMs
    changed(person)
    return { success: true }
  }

  /**
   * Stores a file, and returns its media id. Throws a `CloudRefusal` for an unknown type, and for an absent, empty or
   * too large file.
   */
  function uploadMedia(type: string, file: NamedFile | undefined): unknown {
    if (!documentTypes.has(type) && !imageTypes.has(type))
      throw new CloudRefusal(131053, '(#131053) Media upload error', { details: `${type} is not taken` })
    if (!file || file.bytes.length === 0)
      throw new CloudRefusal(100, '(#100) Invalid parameter', { details: 'file is empty' })
    if (file.bytes.length > (imageTypes.has(type) ? cloudLimits.image : cloudLimits.document))
      throw new CloudRefusal(131053, '(#131053) Media upload error', { details: 'file is too large' })
    const id = String(1_000_000 + files.size)
    files.set(id, file)
    return { id }
  }

  /** The response to an accepted message. */
  function acceptedBody(person: string, id: string): unknown {
    return {
      messaging_product: 'whatsapp',
      contacts: [
        person.includes('.') ? { input: person, user_id: person } : { input: person, wa_id: person.replace('+', '') },
      ],
      messages: [{ id }],
    }
  }
}

/**
 * Returns a call's `biz_opaque_callback_data`. Undefined if absent. Throws a `CloudRefusal` for anything but a text of
 * at most 512 characters, in messages of any kind: "biz_opaque_callback_data character maximum from 256 to 512".
 * https://developers.facebook.com/docs/whatsapp/business-platform/changelog
 */
function callbackDataIn({ biz_opaque_callback_data: data }: Fields): string | undefined {
  if (data === undefined) return undefined
  if (typeof data !== 'string' || data.length > cloudLimits.callbackData)
    throw invalidParameter('biz_opaque_callback_data')
  return data
}

/** The refusal that Meta sends with this code. Its title is "Error" if the code is unknown. */
export function refusalFor(code: number): CloudRefusal {
  const isRate = code === 131056 || code === 130429 || code === 4
  return new CloudRefusal(code, `(#${code}) ${titles[code] ?? 'Error'}`, { status: isRate ? 429 : 400 })
}
