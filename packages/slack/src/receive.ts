import type { Clock } from '@reply/core'
import type { Chat, Inbound, MessageRef, Words } from '@reply/sink'
import { answerOnce, createInboundReceiver, PortError, pacerOf, waitForTurn } from '@reply/sink/channel'
import type { SlackApi, SlackFields } from './api.ts'
import { createCall } from './call.ts'
import { SlackError } from './error.ts'
import { toPortError } from './failure.ts'
import { featuresOf, remember } from './features.ts'
import { modalOf, valuesOf } from './form.ts'
import { type Received, readBody } from './inbound.ts'
import { fallbackLength, slackLimits } from './limits.ts'
import { escapedTo } from './render.ts'
import type { Threads } from './threads.ts'

export interface ReceiverOptions {
  readonly api: SlackApi
  readonly onInbound: (inbound: Inbound) => unknown
  readonly onError: (error: SlackError) => void
  readonly clock: Clock
  /** How long to wait for the host before going on, in ms. The host's code goes on after that. */
  readonly handleMs: number
  /** Call timeout in ms: the chat waits for the call. */
  readonly timeoutMs: number
  readonly words: Words
  readonly threads: Threads
}

/** Passes a body's event to the host once. Resolves when the host is done or `handleMs` is over. Never rejects. */
export type ReceiveBody = (body: unknown) => Promise<void>

/** Slack shows no spinner after a press, but an answer that comes much later makes no sense to the person. */
const pressMs = 60_000

type Opening = Extract<Received, { type: 'open' }>

export function createReceiver(options: ReceiverOptions): ReceiveBody {
  const { api, onInbound, onError, clock, handleMs, timeoutMs, words, threads } = options
  const features = featuresOf(api)
  const { forms } = features
  /** The hint for a form that was too long for its button and was lost with a restart. */
  const inWords = words.replyWith({ options: 0, multiple: false, custom: true })
  const receive = createInboundReceiver({ onInbound, onFailure, clock, handleMs, pressMs })
  return async (body) => {
    const read = readBody(body)
    if (!read) return onError(new SlackError('malformed', 'Skipped a Slack payload that is not an event.'))
    const { id, received } = read
    if (!received || !isForUs(received)) return
    if (received.type === 'open') return await open(received)
    await receive(id, await inboundOf(received))
  }

  /** In a channel only a mention counts, and then every message in that thread. */
  function isForUs(received: Received): boolean {
    if (received.type !== 'text') return true
    const { isAddressed, chat, actor, teamId } = received
    if (!isAddressed && !threads.has(chat)) return false
    if (teamId === undefined) threads.join(chat)
    else threads.spoke(chat, { userId: actor.id, teamId })
    return true
  }

  async function inboundOf(received: Exclude<Received, Opening>): Promise<Inbound | undefined> {
    if (received.type === 'stop') return received
    if (received.type === 'text') {
      const { isAddressed: _, teamId: __, ...text } = received
      return { ...text, answer: answerOnce((words) => say(received, words), failing(received)) }
    }
    const answer = answerOnce((text) => whisper(received, text), failing(received))
    if (received.type === 'press') return { ...received, answer }
    const { state, form: carried, ...press } = received
    const form = carried ?? forms.get(received.token)
    if (form) return { ...press, type: 'press', values: valuesOf(form, state), answer }
    await answer(inWords)
    return undefined
  }

  /** Slack wants the dialog within 3 s of the press, so `mayAnswer` is checked only on submission. */
  async function open(opening: Opening): Promise<void> {
    const { form: carried, token, trigger, chat, messageRef } = opening
    const form = carried ?? forms.get(token)
    const respond = answerOnce((text) => whisper(opening, text), failing(opening))
    if (!form) return await respond(inWords)
    // The dialog's metadata may hold less of the form than the button did.
    remember(features, form)
    const place = { channel: chat.id, thread: chat.thread, message: messageRef.id }
    try {
      await call(chat, 'views.open', { trigger_id: trigger, view: modalOf(form, { place, words }) })
    } catch (error) {
      failing(opening)(error)
    }
  }

  /** Posts a message that only the person who pressed can see. */
  async function whisper({ chat, actor }: Pick<Opening, 'chat' | 'actor'>, text: string | undefined): Promise<void> {
    if (!text) return
    await call(chat, 'chat.postEphemeral', { ...placeOf(chat, undefined), user: actor.id, text: spoken(text) })
  }

  /** Waits for its turn: the channel has one rate budget. */
  async function say(
    { chat, messageRef }: { readonly chat: Chat; readonly messageRef: MessageRef },
    text: string | undefined,
  ): Promise<void> {
    if (!text) return
    const pace = pacerOf(api, clock).chat(chat, slackLimits)
    const fields = { ...placeOf(chat, messageRef), text: spoken(text), parse: 'none', link_names: false }
    try {
      await waitForTurn(pace, clock, () => call(chat, 'chat.postMessage', fields))
    } catch (error) {
      // The channel's sinks share the budget, so they must wait too.
      if (error instanceof PortError && error.retryAfterMs !== undefined) pace.freeze(error.retryAfterMs, error.scope)
      throw error
    }
  }

  async function call({ id: channelId }: Chat, method: string, fields: SlackFields): Promise<unknown> {
    return await createCall({ api, channelId, timeoutMs, clock })(method, fields, { verb: 'answer', scope: 'chat' })
  }

  function failing({ type, chat }: Pick<Received, 'type' | 'chat'>): (error: unknown) => void {
    return (error) => {
      const cause = toPortError(error, `answering a ${type} in ${chat.id}`)
      onError(new SlackError('answer', cause.message, { cause }))
    }
  }

  function onFailure({ type, chat }: Inbound, cause: unknown): void {
    const said = cause instanceof Error ? cause.message : String(cause)
    onError(new SlackError('inbound', `A ${type} in ${chat.id} failed: ${said}`, { cause }))
  }
}

function placeOf({ id, thread }: Chat, messageRef: MessageRef | undefined): SlackFields {
  const at = thread ?? messageRef?.id
  return { channel: id, ...(at !== undefined && { thread_ts: at }) }
}

function spoken(text: string): string {
  return escapedTo(text, fallbackLength)
}
