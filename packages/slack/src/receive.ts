import type { Chat, Inbound, InboundFile, Texts } from '@reply/sink'
import { callPlatform, createInboundReceiver, type Form, NotTakenError, pacerOf } from '@reply/sink/channel'
import { createRecent, type InboundOptions, sendAnswer } from '@reply/sink/internal'
import { isTs, noMentionsOrPreviews, type SlackApi, type SlackFields } from './api.ts'
import { SlackError, toPortError as toPortErrors } from './error.ts'
import { answersOf, modalOf } from './form.ts'
import { appIdOf, fileInfoOf, isBareFile, type Received, readBody } from './inbound.ts'
import { fallbackLength, slackLimits } from './limits.ts'
import { escapeAndClip } from './render.ts'
import { recipientOf, type SlackRecipient } from './stream.ts'

interface ReceiverOptions extends InboundOptions {
  readonly api: SlackApi
  readonly texts: Texts
  readonly threads: Threads
  /** Whether every message that the app receives is passed on. */
  readonly receivesAll: boolean
  /** Whether the slash command of that name, without the slash, is passed on. */
  readonly isOwnCommand: (name: string) => boolean
}

export interface Receiver {
  /**
   * Passes a body's event to the host once. Resolves when the host is done or after `handleMs`, with false if the host
   * did not take it. Never rejects.
   */
  readonly receive: (body: unknown) => Promise<boolean>
  /** Resolves when everything received so far is handled, at most `handleMs` each. */
  readonly settled: () => Promise<void>
}

/** How long a press is answered, in ms. Slack shows no spinner, but a much later answer would confuse the person. */
const pressMs = 60_000

/** A dialog can be opened for 3 s after the press. https://docs.slack.dev/surfaces/modals#opening_modals */
const openMs = 3000

/** Messages are rate-limited per channel. */
const toPortError = toPortErrors.chat

/** How long Slack is asked for a file, in ms. It expects the acknowledgement after 3 s: https://docs.slack.dev/apis/events-api */
const lookUpMs = 2000

type Opening = Extract<Received, { type: 'open' }>

/** Passes each event to the host once, with a function that answers it. Opens the dialogs of forms itself. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { api, onError, clock, timeoutMs, texts, threads, receivesAll, isOwnCommand } = options
  const {
    receive,
    answerFor,
    failureReporter: reportFailure,
    settled,
  } = createInboundReceiver({
    ...options,
    client: api,
    account: 'slack',
    toPortError,
    Failure: SlackError,
    pressMs,
    limitsOf: () => slackLimits,
  })
  return { receive: receiveBody, settled }

  /**
   * Passes an event on. Resolves with false if the host did not take it. Ignored events count as taken. An unreadable one is
   * reported.
   */
  async function receiveBody(body: unknown): Promise<boolean> {
    const read = readBody(body, isOwnCommand)
    if (!read) onError(new SlackError('malformed', 'Skipped a Slack payload that is not an event.'))
    const { id, received } = read ?? {}
    if (!received || !acceptAndRecord(received)) return true
    // Two apps may get the same message.
    const idOfApp = `${appIdOf(body)}/${id}`
    return (await receive(idOfApp, () => withAnswer(received, idOfApp))) !== 'not-taken'
  }

  /**
   * Whether the host gets the inbound. In a channel, accepts only mentions and then every message in that thread, unless the
   * host wants all messages. Records the thread of an accepted text, and its author.
   */
  function acceptAndRecord(received: Received): boolean {
    if (received.type !== 'text') return true
    const { isAddressed, chat, actor } = received
    if (!receivesAll && !isAddressed && !threads.has(chat)) return false
    const recipient = recipientOf(actor)
    if (recipient) threads.recordAuthor(chat, recipient)
    else threads.join(chat)
    return true
  }

  /** Returns the inbound with its `answer`. Undefined for presses that open a dialog, if that can be done without the host. */
  async function withAnswer(received: Received, id: string): Promise<Inbound | undefined> {
    if (received.type === 'stop') return received
    const { chat, actor } = received
    // Sends a message that only that person can see.
    const sendPrivately = async (message: string): Promise<unknown> =>
      await api.apiCall('chat.postEphemeral', {
        ...threadFields(chat, undefined),
        user: actor.id,
        text: toMessageText(message),
      })
    if (received.type === 'text') {
      const { isAddressed: _, ...written } = received
      const text = written.files ? { ...written, files: await Promise.all(written.files.map(described)) } : written
      const { messageRef } = text
      // A slash command is not a message, and other people don't see it.
      if (!isTs(messageRef.id)) return { ...text, answer: answerFor(text, { send: sendPrivately, isMessage: false }) }
      const fields = { ...threadFields(chat, messageRef.id), ...noMentionsOrPreviews }
      const send = async (message: string): Promise<unknown> =>
        await api.apiCall('chat.postMessage', { ...fields, text: toMessageText(message) })
      return { ...text, answer: answerFor(text, { send, isMessage: true }) }
    }
    const answer = answerFor({ type: 'press', chat }, { send: sendPrivately, isMessage: false })
    if (received.type === 'press') return { ...received, answer }
    // The host knows a form that is too long for its button, or for the metadata of its dialog.
    if (received.type === 'open') {
      const { form, trigger, ...press } = received
      const open = async (opened: Form): Promise<void> => await openDialog(received, opened)
      if (!form) return { ...press, type: 'press', open, answer }
      await open(form)
      return undefined
    }
    const { state, form, ...press } = received
    if (form) return { ...press, type: 'press', values: answersOf(form, state), answer }
    const open = async (known: Form): Promise<void> => {
      const tell = answerFor({ type: 'press', chat }, { send: sendPrivately, isMessage: false })
      const filled: Inbound = { ...press, type: 'press', values: answersOf(known, state), answer: tell }
      // Slack then keeps the dialog open, with what the person wrote.
      if ((await receive(`${id}/filled`, async () => filled)) === 'not-taken') throw new NotTakenError()
    }
    return { ...press, type: 'press', open, answer }
  }

  /**
   * Returns a file with its name, its type and its size, which Slack is asked for if the event only had its id: a voice clip would not
   * be known as one. The same file if it has them, and if Slack doesn't tell.
   */
  async function described(file: InboundFile): Promise<InboundFile> {
    if (!isBareFile(file)) return file
    const call = { what: `file ${file.name}`, timeoutMs: lookUpMs, clock, toPortError }
    const make = async (): Promise<unknown> => await api.apiCall('files.info', { file: file.ref })
    const response = await callPlatform(make, call).catch(() => undefined)
    return fileInfoOf(response) ?? file
  }

  /**
   * Opens the dialog, and reports a failure. Slack requires it within 3 s of the press, so `mayAnswer` is only checked on
   * submission.
   */
  async function openDialog({ chat, trigger, messageRef }: Opening, form: Form): Promise<void> {
    const view = modalOf(form, { place: { channel: chat.id, thread: chat.thread, message: messageRef.id }, texts })
    const about = { type: 'press', chat }
    const pace = pacerOf(api, clock).chat(chat, slackLimits)
    const call = { what: `opening a dialog in chat ${chat.id}`, timeoutMs, clock, toPortError }
    const make = async (): Promise<unknown> => await api.apiCall('views.open', { trigger_id: trigger, view })
    await sendAnswer(make, { ...call, pace, isMessage: false, until: clock.now() + openMs }).catch(reportFailure(about))
  }
}

/** Returns the fields to post in the chat's thread, or else below the message. */
function threadFields({ id, thread }: Chat, messageId: string | undefined): SlackFields {
  const at = thread ?? messageId
  return { channel: id, ...(at !== undefined && { thread_ts: at }) }
}

/** Returns the text escaped for Slack's markup, cut to `fallbackLength`. */
function toMessageText(text: string): string {
  return escapeAndClip(text, fallbackLength)
}

/** The threads in which the bot listens without a mention, and the last author in each. */
interface Threads {
  /** Adds the thread, and keeps its author if it has one. Call it when the bot was mentioned in the thread, or posts there. */
  join(chat: Chat): void
  /** Whether the thread was added, and is not among the oldest that were dropped. */
  has(chat: Chat): boolean
  /** Records the last author in the thread, and adds the thread. */
  recordAuthor(chat: Chat, recipient: SlackRecipient): void
  /** Returns the last author in the thread. Undefined if none is known. */
  recipientIn(chat: Chat): SlackRecipient | undefined
}

/** How many threads to keep. The oldest are dropped. */
const mostThreads = 1000

/** Remembers the newest threads that the app takes part in, with their authors. */
export function createThreads(): Threads {
  const joined = createRecent<SlackRecipient | undefined>(mostThreads)
  return {
    join: (chat) => joined.set(chatKey(chat), joined.get(chatKey(chat))),
    has: (chat) => joined.has(chatKey(chat)),
    recordAuthor: (chat, recipient) => joined.set(chatKey(chat), recipient),
    recipientIn: (chat) => joined.get(chatKey(chat)),
  }
}

/** Returns a key for a chat and its thread. */
function chatKey({ id, thread = '' }: Chat): string {
  return `${id}/${thread}`
}
