import type { Inbound } from '@reply/sink'
import {
  createInboundReceiver,
  type InboundOptions,
  type InboundReceiver,
  pacerOf,
  sendAnswer,
} from '@reply/sink/channel'
import type { DiscordRest } from './api.ts'
import { around, type Body } from './body.ts'
import { DiscordError } from './error.ts'
import { toPortError } from './failure.ts'
import type { Event, InteractionRef, Received } from './inbound.ts'
import { discordLimits, nonceLength, responseMs, tokenMs } from './limits.ts'
import { oneMessage } from './render.ts'
import { createRespond, type Respond } from './respond.ts'

export interface ReceiverOptions extends InboundOptions {
  readonly rest: DiscordRest
}

export interface Receiver {
  /**
   * Passes an event to the host once. Resolves when the host is done or `handleMs` is over. Never rejects. Returns
   * undefined for a repeat, or resolves with `repeat`. `first` sends the first response to an interaction; without it, a call does.
   */
  receive(event: Event, first?: (body: Body) => Promise<void>): ReturnType<InboundReceiver['receive']>
  readonly rest: () => Promise<void>
}

type First = (body: Body) => Promise<void>

export function createReceiver(options: ReceiverOptions): Receiver {
  const { rest, onInbound, clock } = options
  const receiver = createInboundReceiver({
    ...{ ...options, client: rest, account: 'discord', toPortError, Failure: DiscordError, pressMs: tokenMs },
    onInbound: handle,
    limitsOf: () => discordLimits,
  })
  /** Slash commands need a response, if only a confirmation. */
  const commands = new WeakSet<Inbound>()
  return {
    receive: ({ id, received }, first) => receiver.receive(id, () => received && inboundOf(received, first)),
    rest: receiver.rest,
  }

  async function handle(inbound: Inbound): Promise<void> {
    try {
      await onInbound(inbound)
    } finally {
      if (inbound.type === 'text' && commands.has(inbound)) await inbound.answer()
    }
  }

  function inboundOf(received: Received, first: First | undefined): Inbound {
    if (received.type === 'press') {
      const { interaction, ...press } = received
      if (press.isForeign) return { ...press, ...whenAsked(() => respond(press, interaction, first)) }
      return { ...press, ...respond(press, interaction, first) }
    }
    const { interaction, ...text } = received
    if (interaction) {
      const command = { ...text, answer: respond(text, interaction, first).answer }
      commands.add(command)
      return command
    }
    const { chat, messageRef } = text
    const nonce = `answer${messageRef.id}`.slice(-nonceLength)
    const say = async (words: string, signal: AbortSignal): Promise<unknown> => {
      const body = { content: oneMessage(words), ...around({ silent: false, replyTo: messageRef, nonce }) }
      return await rest.post(`/channels/${chat.id}/messages`, { body, signal })
    }
    return { ...text, answer: receiver.answering(text, { say, isMessage: true }) }
  }

  /** The host alone answers its own controls, also by its own client: nothing is acknowledged before it asks for it. */
  function whenAsked(make: () => Respond): Respond {
    let made: Respond | undefined
    const get = (): Respond => {
      made ??= make()
      return made
    }
    return { answer: async (text) => await get().answer(text), open: async (form) => await get().open(form) }
  }

  function respond(about: Pick<Received, 'type' | 'chat'>, interaction: InteractionRef, first?: First): Respond {
    const { id, token, applicationId } = interaction
    const arrivedAt = clock.now()
    const what = `answering a ${about.type} in chat ${about.chat.id}`
    // Interactions have limits of their own, apart from the channel's.
    // https://discord.com/developers/docs/interactions/receiving-and-responding#endpoints
    const pace = pacerOf(rest, clock).chat({ id: 'interactions' }, discordLimits)
    const sendTo = (route: `/${string}`, withinMs: number) => async (body: Body) => {
      const until = arrivedAt + withinMs
      const make = (signal: AbortSignal): Promise<unknown> => rest.post(route, { body, auth: false, signal })
      await sendAnswer(make, { pace, isMessage: false, until, what, clock, toPortError })
    }
    return createRespond({
      interaction,
      first: first ?? sendTo(`/interactions/${id}/${token}/callback`, responseMs),
      followUp: sendTo(`/webhooks/${applicationId}/${token}`, tokenMs),
      clock,
      onFailure: receiver.failing(about),
    })
  }
}
