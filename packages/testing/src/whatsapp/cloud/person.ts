import type { Fields } from '../../fields.ts'
import { shownButton, shownPost } from '../../platform/fake.ts'
import type { CloudContent } from './content.ts'
import type { CloudPost, CloudState } from './state.ts'

/** How the message came about. */
export interface WhatsAppSay {
  /** The name in their profile. Default "Ada". */
  readonly name?: string
  /** The message that it replies to. */
  readonly replyTo?: string
  /** Whether it was forwarded, or forwarded more than five times. Default: the person wrote it. */
  readonly forwarded?: 'once' | 'often'
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
}

/** The actions of people. An action that a person couldn't do throws a `TestingError`. */
export interface WhatsAppPeople {
  /** Writes a message, which the webhook receives. The business may answer for 24 h. Returns its `wamid`. */
  say(person: string, text: string, options?: WhatsAppSay): string
  /**
   * Presses the reply button or picks the row with this label, description or id, which sends a message. Returns its
   * `wamid`.
   */
  press(person: string, messageId: string, button: string, options?: WhatsAppSay): string
  /** Deletes a message for the person alone. The webhook gets nothing. */
  remove(person: string, messageId: string): void
  /** Reports that an accepted message can't be delivered. It is removed, and the webhook gets the reason. */
  fail(person: string, messageId: string, code: number): void
}

/** Returns the actions of people, who need not exist before. */
export function createPeople(state: CloudState): WhatsAppPeople {
  const { clock, hook } = state
  return {
    say: (person, text, options = {}) => {
      const sent = options.file ? storeFile(state, text, options.file) : { type: 'text', text: { body: text } }
      return addMessage(person, { kind: 'text', source: text, buttons: [] }, sent, options)
    },
    press,
    remove: (person, messageId) => {
      shownPostIn(person, messageId)
      state.chat(person).posts.delete(messageId)
      state.changed(person)
    },
    fail: (person, messageId, code) => {
      const { data } = shownPostIn(person, messageId)
      state.chat(person).posts.delete(messageId)
      state.changed(person)
      hook.reportStatus({ id: messageId, person, status: 'failed', code, data })
    },
  }

  /**
   * Sends the choice of a button or row as a message that replies to this one, and returns its `wamid`. The buttons
   * stay. Throws a `TestingError` for an unknown message or button.
   */
  function press(person: string, messageId: string, button: string, options: WhatsAppSay = {}): string {
    const { content } = shownPostIn(person, messageId)
    const named = content.buttons.map((each) => ({ ...each, otherNames: [each.description, each.data] }))
    const { label: title, data: id, description } = shownButton('whatsapp', messageId, button, named)
    // https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/payload-examples: a template's quick reply.
    if (content.kind === 'template') {
      const sent = { type: 'button', button: { payload: id, text: title } }
      return addMessage(person, { kind: 'text', source: title, buttons: [] }, sent, { ...options, replyTo: messageId })
    }
    const type = content.kind === 'list' ? 'list_reply' : 'button_reply'
    const choice = { id, title, ...(description !== undefined && { description }) }
    const sent = { type: 'interactive', interactive: { type, [type]: choice } }
    return addMessage(person, { kind: 'text', source: title, buttons: [] }, sent, { ...options, replyTo: messageId })
  }

  /**
   * Adds a person's message, which opens the window of 24 h, and sends `webhookFields` to the webhook. Returns its
   * `wamid`.
   */
  function addMessage(
    person: string,
    content: CloudContent,
    webhookFields: Fields,
    { name = 'Ada', replyTo, forwarded }: WhatsAppSay,
  ): string {
    const id = state.nextId()
    const chat = state.chat(person)
    const at = clock.now()
    chat.posts.set(id, { id, from: 'person', at, content, ...(replyTo !== undefined && { replyTo }) })
    chat.lastMessageAt = at
    state.changed(person)
    // A person with a username instead of a number is identified by a business-scoped user id alone.
    const isNamed = person.includes('.')
    const contact = { profile: { name }, ...(isNamed ? { user_id: person } : { wa_id: person }) }
    const from = isNamed ? { from_user_id: person } : { from: person }
    const context = contextFields(replyTo, forwarded)
    const timestamp = String(Math.floor(at / 1000))
    hook.notify({
      contacts: [contact],
      messages: [{ ...from, id, timestamp, ...(context && { context }), ...webhookFields }],
    })
    return id
  }

  /** Returns the message. Throws a `TestingError` if the chat has no such message. */
  function shownPostIn(person: string, messageId: string): CloudPost {
    return shownPost('whatsapp', `The chat of ${person}`, state.chat(person).posts, messageId)
  }
}

/**
 * Stores a file, and returns the fields of its message.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/document
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/audio
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/image
 */
function storeFile(
  state: CloudState,
  caption: string,
  { name, bytes, mime = 'text/plain', isVoice = false, isPicture = false }: NonNullable<WhatsAppSay['file']>,
): Fields {
  const id = `media-${state.nextId()}`
  state.inbox.set(id, { name, bytes, mime })
  if (isVoice) return { type: 'audio', audio: { id, mime_type: mime, sha256: '', voice: true } }
  if (isPicture)
    return { type: 'image', image: { id, mime_type: mime, sha256: '', ...(caption !== '' && { caption }) } }
  const document = { id, filename: name, mime_type: mime, sha256: '', ...(caption !== '' && { caption }) }
  return { type: 'document', document }
}

/**
 * Returns how a message came about: forwarded, else a reply. Undefined if neither.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/text
 */
function contextFields(replyTo: string | undefined, forwarded: WhatsAppSay['forwarded']): Fields | undefined {
  if (forwarded !== undefined) return forwarded === 'often' ? { frequently_forwarded: true } : { forwarded: true }
  return replyTo === undefined ? undefined : { from: '15550001111', id: replyTo }
}
