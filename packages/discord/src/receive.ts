import type { Clock } from '@reply/core'
import type { AnswerInbound, Inbound } from '@reply/sink'
import { createInboundReceiver, createPacer, type Form, keepSecret } from '@reply/sink/channel'
import { type InboundOptions, type InboundReceiver, sendAnswer } from '@reply/sink/internal'
import type { Body, DiscordRest } from './api.ts'
import { DiscordError, toPortError } from './error.ts'
import { dialogOf, tokenAbout } from './form.ts'
import type { Event, InteractionRef, Received } from './inbound.ts'
import { deferMs, discordLimits, nonceLength, responseMs, tokenMs } from './limits.ts'
import { around, noticeBody } from './port.ts'
import { oneMessage } from './render.ts'

export interface ReceiverOptions extends InboundOptions {
  readonly rest: DiscordRest
}

export interface Receiver {
  /**
   * Passes an event to the host once. Resolves when the host is done or after `handleMs`. Never rejects. Returns
   * undefined for a duplicate, or resolves with `repeat`. `first` sends the first response to an interaction. Without
   * it, the response is a call.
   */
  receive(event: Event, first?: (body: Body) => Promise<void>): ReturnType<InboundReceiver['receive']>
  readonly rest: () => Promise<void>
}

type First = (body: Body) => Promise<void>

export function createReceiver(options: ReceiverOptions): Receiver {
  const { rest, onInbound, clock, timeoutMs } = options
  const receiver = createInboundReceiver({
    ...options,
    client: rest,
    account: 'discord',
    toPortError,
    Failure: DiscordError,
    pressMs: tokenMs,
    onInbound: handle,
    limitsOf: () => discordLimits,
  })
  /** Slash commands need a response, if only a confirmation. */
  const commands = new WeakSet<Inbound>()
  // Interactions have their own limits: neither a channel's nor the global limit applies to them.
  // https://discord.com/developers/docs/interactions/receiving-and-responding#endpoints
  const pace = createPacer({ clock }).chat({ id: 'interactions' }, { ...discordLimits, perClient: undefined })
  return { receive, rest: receiver.settled }

  /** Starts the time limit for an acknowledgement on arrival, before the store is asked. */
  function receive({ id, received }: Event, first?: First): ReturnType<Receiver['receive']> {
    const response = received && responseTo(received, first)
    const handled = receiver.receive(id, () => received && inboundOf(received, response))
    if (!handled) response?.cancel()
    else void handled.then((result) => result === 'repeat' && response?.cancel())
    return handled
  }

  function responseTo(received: Received, first: First | undefined): Respond | undefined {
    const { interaction } = received
    if (!interaction) return undefined
    keepSecret(interaction.token, { isTemporary: true })
    const make = (): Respond => respond(received, interaction, first)
    return received.type === 'press' && received.isForeign ? whenAsked(make) : make()
  }

  async function handle(inbound: Inbound): Promise<void> {
    try {
      await onInbound(inbound)
    } finally {
      if (inbound.type === 'text' && commands.has(inbound)) await inbound.answer()
    }
  }

  function inboundOf(received: Received, response: Respond | undefined): Inbound {
    const { interaction: _, ...inbound } = received
    if (inbound.type === 'press') {
      const { answer = async () => {}, open } = response ?? {}
      return { ...inbound, answer, ...(open && { open }) }
    }
    const text = inbound
    if (response) {
      const command = { ...text, answer: response.answer }
      commands.add(command)
      return command
    }
    const { chat, messageRef } = text
    const nonce = `answer${messageRef.id}`.slice(-nonceLength)
    const say = async (words: string, signal: AbortSignal): Promise<unknown> => {
      const body = { content: oneMessage(words), ...around({ silent: false, replyTo: messageRef, nonce }) }
      return await rest.post(`/channels/${chat.id}/messages`, { body, signal })
    }
    return { ...text, answer: receiver.answerFor(text, { send: say, isMessage: true }) }
  }

  /**
   * Leaves the host's own controls to the host, which may use its own client. Nothing is acknowledged before it
   * answers.
   */
  function whenAsked(make: () => Respond): Respond {
    let made: Respond | undefined
    const get = (): Respond => {
      made ??= make()
      return made
    }
    return {
      answer: async (text) => await get().answer(text),
      open: async (form) => await get().open(form),
      cancel: () => made?.cancel(),
    }
  }

  function respond(
    about: Pick<Received, 'type' | 'chat' | 'messageRef'>,
    interaction: InteractionRef,
    first?: First,
  ): Respond {
    const { id, token, applicationId } = interaction
    const arrivedAt = clock.now()
    const what = `answering a ${about.type} in chat ${about.chat.id}`
    const sendTo = (route: `/${string}`, withinMs: number) => async (body: Body) => {
      const until = arrivedAt + withinMs
      const make = (signal: AbortSignal): Promise<unknown> => rest.post(route, { body, auth: false, signal })
      await sendAnswer(make, { pace, isMessage: false, until, what, clock, toPortError, timeoutMs })
    }
    return createRespond({
      interaction,
      messageId: about.messageRef.id,
      first: first ?? sendTo(`/interactions/${id}/${token}/callback`, responseMs),
      followUp: sendTo(`/webhooks/${applicationId}/${token}`, tokenMs),
      clock,
      onFailure: receiver.failureReporter(about),
    })
  }
}

interface RespondOptions {
  readonly interaction: InteractionRef
  /** The message that was pressed, which dialogs are about. */
  readonly messageId: string
  /** Sends the first response: by a call, or as the response to Discord's own request. */
  readonly first: (body: Body) => Promise<void>
  /** Sends a message after the first response. */
  readonly followUp: (body: Body) => Promise<void>
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
}

interface Respond {
  /** Only the person sees it. Without a text, the response is empty. */
  readonly answer: AnswerInbound
  /** Opens a dialog. If it is too late for one, posts a button that opens it. */
  readonly open: (form: Form) => Promise<void>
  /** Sends nothing, as the interaction was a repeat. */
  readonly cancel: () => void
}

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-interaction-callback-type */
const kind = { message: 4, deferUpdate: 6, modal: 9 } as const

/** Answers an interaction once. Always acknowledges it in time, so that the answer may follow later. */
function createRespond({ interaction, messageId, first, followUp, clock, onFailure }: RespondOptions): Respond {
  let taken: Promise<void> | undefined
  let isDone = false
  const stop = clock.after(deferMs, () => void guarded(take)())
  return {
    answer: async (text) => await done(() => say(text)),
    open: async (form) => await done(() => show(form)),
    cancel: stop,
  }

  async function done(act: () => Promise<void>): Promise<void> {
    if (isDone) return
    isDone = true
    stop()
    await guarded(act)()
  }

  function guarded(act: () => Promise<void>): () => Promise<void> {
    return async () => {
      try {
        await act()
      } catch (error) {
        onFailure(error)
      }
    }
  }

  /** Acknowledges, because otherwise the person would see the interaction fail. */
  async function take(): Promise<void> {
    taken ??= first(quietOf(interaction))
    await taken
  }

  async function say(text: string | undefined): Promise<void> {
    if (!taken) return await first(text ? { type: kind.message, data: noticeBody(text) } : quietOf(interaction))
    await taken
    if (text) await followUp(noticeBody(text))
  }

  async function show(form: Form): Promise<void> {
    const token = tokenAbout(form.token, messageId)
    if (!taken) return await first({ type: kind.modal, data: dialogOf({ ...form, token }) })
    await taken
    await followUp(noticeBody(form.label, { label: form.label, data: token }))
  }
}

/** An empty response. A command has no message to leave unchanged, so it needs a visible confirmation. */
export function quietOf({ isOnMessage }: Pick<InteractionRef, 'isOnMessage'>): Body {
  return isOnMessage ? { type: kind.deferUpdate } : { type: kind.message, data: noticeBody('✅') }
}
