import type { Clock } from '@reply/core'
import type { AnswerInbound, Inbound } from '@reply/sink'
import { createInboundReceiver, createPacer, type Form, keepSecret } from '@reply/sink/channel'
import { type InboundOptions, type InboundReceiver, sendAnswer } from '@reply/sink/internal'
import type { Body, DiscordRest } from './api.ts'
import { DiscordError, toPortError } from './error.ts'
import { dialogOf, withMessageId } from './form.ts'
import type { Event, InteractionRef, Received } from './inbound.ts'
import { deferMs, discordLimits, followUpMs, nonceLength, responseMs } from './limits.ts'
import { noticeBody, postFields } from './port.ts'
import { oneMessage } from './render.ts'

/** Passes events on to your handler, and responds to interactions. */
export interface Receiver {
  /**
   * Passes an event on once. Resolves when the handler is done or after `handleMs`. Never rejects. Returns undefined for a
   * duplicate, or resolves with `repeat`. `sendFirst` sends the first response to an interaction. Without it, the response
   * is a call.
   */
  receive(event: Event, sendFirst?: SendBody): ReturnType<InboundReceiver['receive']>
  /** Resolves when all received events are handled, at most `handleMs` each. */
  settled(): Promise<void>
}

type SendBody = (body: Body) => Promise<void>

/** Passes each event to the host once, with a function that answers it. Acknowledges interactions in time. */
export function createReceiver(rest: DiscordRest, inboundOptions: InboundOptions): Receiver {
  const { onInbound, clock, timeoutMs } = inboundOptions
  const receiver = createInboundReceiver({
    ...inboundOptions,
    client: rest,
    account: 'discord',
    toPortError,
    Failure: DiscordError,
    pressMs: followUpMs,
    onInbound: passOn,
    limitsOf: () => discordLimits,
  })
  /** Slash commands need a response, if only a confirmation. */
  const commands = new WeakSet<Inbound>()
  // Interactions have their own limits: neither a channel's nor the global limit applies to them.
  // https://discord.com/developers/docs/interactions/receiving-and-responding#endpoints
  const pace = createPacer({ clock }).chat({ id: 'interactions' }, { ...discordLimits, perClient: undefined })
  return { receive, settled: receiver.settled }

  /**
   * Passes an event on. Undefined for a repeat. The time limit for an acknowledgement starts on arrival, before the store is
   * read, and is cancelled for a repeat.
   */
  function receive({ id, received }: Event, sendFirst?: SendBody): ReturnType<Receiver['receive']> {
    const responder = received && responderFor(received, sendFirst)
    const handled = receiver.receive(id, () => received && inboundOf(received, responder))
    if (!handled) responder?.cancel()
    else void handled.then((result) => result === 'repeat' && responder?.cancel())
    return handled
  }

  /** Creates the responder of an interaction, and keeps its token out of errors. Undefined for a message. */
  function responderFor(received: Received, sendFirst: SendBody | undefined): Responder | undefined {
    const { interaction } = received
    if (!interaction) return undefined
    keepSecret(interaction.token, { isTemporary: true })
    const create = (): Responder => createPacedResponder(received, interaction, sendFirst)
    return received.type === 'press' && received.isForeign ? createLazyResponder(create) : create()
  }

  /** Calls your handler, then confirms a slash command that it did not answer, also if it throws. */
  async function passOn(inbound: Inbound, id: string): Promise<void> {
    try {
      await onInbound(inbound, id)
    } finally {
      if (inbound.type === 'text' && commands.has(inbound)) await inbound.answer()
    }
  }

  /**
   * Returns the inbound with its `answer`. Interactions are answered through the responder, and messages with a reply. Notes
   * slash commands, which `passOn` confirms.
   */
  function inboundOf(received: Received, responder: Responder | undefined): Inbound {
    const { interaction: _, ...inbound } = received
    if (inbound.type === 'press') {
      const { answer = async () => {}, open } = responder ?? {}
      return { ...inbound, answer, ...(open && { open }) }
    }
    const text = inbound
    if (responder) {
      const command = { ...text, answer: responder.answer }
      commands.add(command)
      return command
    }
    const { chat, messageRef } = text
    const nonce = `answer${messageRef.id}`.slice(-nonceLength)
    const send = async (answer: string, signal: AbortSignal): Promise<unknown> => {
      const body = { content: oneMessage(answer), ...postFields({ silent: false, replyTo: messageRef }, nonce) }
      return await rest.post(`/channels/${chat.id}/messages`, { body, signal })
    }
    return { ...text, answer: receiver.answerFor(text, { send, isMessage: true }) }
  }

  /**
   * Creates a responder whose calls keep to the rate limits of interactions and stop at their deadlines. `sendFirst` replaces
   * the call with the first response, for an interaction that came in an HTTP request.
   */
  function createPacedResponder(
    about: Pick<Received, 'type' | 'chat' | 'messageRef'>,
    interaction: InteractionRef,
    sendFirst?: SendBody,
  ): Responder {
    const { id, token, applicationId } = interaction
    const arrivedAt = clock.now()
    const what = `answering a ${about.type} in chat ${about.chat.id}`
    const sendTo = (route: `/${string}`, withinMs: number) => async (body: Body) => {
      const until = arrivedAt + withinMs
      const make = (signal: AbortSignal): Promise<unknown> => rest.post(route, { body, auth: false, signal })
      await sendAnswer(make, { pace, isMessage: false, until, what, clock, toPortError, timeoutMs })
    }
    const routes = {
      sendFirst: sendFirst ?? sendTo(`/interactions/${id}/${token}/callback`, responseMs),
      sendFollowUp: sendTo(`/webhooks/${applicationId}/${token}`, followUpMs),
      reportFailure: receiver.failureReporter(about),
    }
    return createResponder(interaction, about.messageRef.id, routes, clock)
  }
}

/** Responds to one interaction. Only the first call of `answer` or `open` has an effect. */
interface Responder {
  /** Only the person sees the text. Without one, the response is empty. */
  readonly answer: AnswerInbound
  /** Opens a dialog. If it is too late for one, posts a button that opens it. */
  readonly open: (form: Form) => Promise<void>
  /** Never acknowledges the interaction, because it was a repeat. */
  readonly cancel: () => void
}

/**
 * Returns a responder that is only created with the first answer. Nothing acknowledges a foreign press before your program
 * answers it.
 */
function createLazyResponder(create: () => Responder): Responder {
  let created: Responder | undefined
  const createOnce = (): Responder => {
    created ??= create()
    return created
  }
  return {
    answer: async (text) => await createOnce().answer(text),
    open: async (form) => await createOnce().open(form),
    cancel: () => created?.cancel(),
  }
}

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type */
const responseType = { message: 4, deferUpdate: 6, modal: 9 } as const

/** How a responder sends. */
interface ResponseRoutes {
  /** Sends the first response: by a call, or as the response to Discord's own request. */
  readonly sendFirst: SendBody
  /** Sends a message after the first response. */
  readonly sendFollowUp: SendBody
  readonly reportFailure: (error: unknown) => void
}

/**
 * Creates the responder of an interaction. Acknowledges the interaction after `deferMs` without an answer, so that the
 * answer may follow later. Dialogs are about the message `messageId`, which was pressed.
 */
function createResponder(
  interaction: InteractionRef,
  messageId: string,
  { sendFirst, sendFollowUp, reportFailure }: ResponseRoutes,
  clock: Clock,
): Responder {
  let acknowledged: Promise<void> | undefined
  let isAnswered = false
  const stopTimer = clock.after(deferMs, () => void reportingFailure(acknowledge))
  return {
    answer: async (text) => await respondOnce(() => sendText(text)),
    open: async (form) => await respondOnce(() => openDialog(form)),
    cancel: stopTimer,
  }

  /** Stops the acknowledgement's timer and responds, the first time. A failure is reported. */
  async function respondOnce(respond: () => Promise<void>): Promise<void> {
    if (isAnswered) return
    isAnswered = true
    stopTimer()
    await reportingFailure(respond)
  }

  /** Responds, and reports a failure. Never rejects. */
  async function reportingFailure(respond: () => Promise<void>): Promise<void> {
    try {
      await respond()
    } catch (error) {
      reportFailure(error)
    }
  }

  /** Sends an empty response once, or the person would see the interaction fail. */
  async function acknowledge(): Promise<void> {
    acknowledged ??= sendFirst(emptyResponse(interaction))
    await acknowledged
  }

  /**
   * Responds with a text, or with nothing if there is none. Follows up if the interaction was acknowledged, and then sends
   * nothing without a text.
   */
  async function sendText(text: string | undefined): Promise<void> {
    if (!acknowledged)
      return await sendFirst(text ? { type: responseType.message, data: noticeBody(text) } : emptyResponse(interaction))
    await acknowledged
    if (text) await sendFollowUp(noticeBody(text))
  }

  /** Opens a dialog. It must be the first response, so an acknowledged interaction gets a button that opens it. */
  async function openDialog(form: Form): Promise<void> {
    const token = withMessageId(form.token, messageId)
    if (!acknowledged) return await sendFirst({ type: responseType.modal, data: dialogOf({ ...form, token }) })
    await acknowledged
    await sendFollowUp(noticeBody(form.label, { label: form.label, data: token }))
  }
}

/** Returns a response without a text. A command has no message to leave unchanged, so it needs a visible confirmation. */
export function emptyResponse({ isOnMessage }: Pick<InteractionRef, 'isOnMessage'>): Body {
  return isOnMessage ? { type: responseType.deferUpdate } : { type: responseType.message, data: noticeBody('✅') }
}
