import type { Clock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { answerOnce, createInboundReceiver, pacerOf, waitForTurn } from '@reply/sink/channel'
import type { DiscordRest } from './api.ts'
import { around, type Body } from './body.ts'
import { DiscordError } from './error.ts'
import { toPortError } from './failure.ts'
import type { Event, InteractionRef, Received } from './inbound.ts'
import { discordLimits, nonceLength, tokenMs } from './limits.ts'
import { oneMessage } from './render.ts'
import { createRespond, type Respond } from './respond.ts'

export interface ReceiverOptions {
  readonly rest: DiscordRest
  readonly onInbound: (inbound: Inbound) => unknown
  readonly onError: (error: DiscordError) => void
  readonly clock: Clock
  /** How long callers wait for the host, in ms. The host's code goes on after that. */
  readonly handleMs: number
}

/**
 * Passes an event to the host once. Resolves when the host is done or `handleMs` is over. Never rejects. Returns
 * undefined for a repeat. `first` sends the first response to an interaction; without it, a call does.
 */
export type ReceiveEvent = (event: Event, first?: (body: Body) => Promise<void>) => Promise<void> | undefined

export function createReceiver(options: ReceiverOptions): ReceiveEvent {
  const { rest, onInbound, onError, clock, handleMs } = options
  const receive = createInboundReceiver({ onInbound: handle, onFailure, clock, handleMs, pressMs: tokenMs })
  const seen = new Set<string>()
  /** Slash commands need a response, if only a confirmation. */
  const commands = new WeakSet<Inbound>()
  return ({ id, received }, first) => {
    // Checked before `inboundOf`, which starts the response timer: a repeat must not start one.
    if (seen.has(id)) return undefined
    seen.add(id)
    for (const oldest of [...seen].slice(0, -1000)) seen.delete(oldest)
    return receive(id, received && inboundOf(received, first))
  }

  async function handle(inbound: Inbound): Promise<void> {
    try {
      await onInbound(inbound)
    } finally {
      if (inbound.type === 'text' && commands.has(inbound)) await inbound.answer()
    }
  }

  function onFailure({ type, chat }: Inbound, cause: unknown): void {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(new DiscordError('inbound', `A ${type} in channel ${chat.id} failed: ${words}`, { cause }))
  }

  function inboundOf(received: Received, first: ((body: Body) => Promise<void>) | undefined): Inbound {
    if (received.type === 'press') {
      const { interaction, ...press } = received
      return { ...press, ...respond(interaction) }
    }
    const { interaction, ...text } = received
    if (!interaction) return { ...text, answer: answerOnce((words) => say(text, words), fail) }
    const command = { ...text, answer: respond(interaction).answer }
    commands.add(command)
    return command

    function respond(to: InteractionRef): Respond {
      const answering = first ?? ((body: Body) => callBack(to, body))
      return createRespond({ interaction: to, first: answering, rest, clock, onFailure: fail })
    }

    function fail(error: unknown): void {
      const cause = toPortError(error, `answering a ${received.type} in channel ${received.chat.id}`)
      onError(new DiscordError('answer', cause.message, { cause }))
    }
  }

  async function callBack({ id, token }: InteractionRef, body: Body): Promise<void> {
    await rest.post(`/interactions/${id}/${token}/callback`, { body, auth: false })
  }

  /** Waits for its turn: the channel has one rate budget. */
  async function say(
    { chat, messageRef }: Pick<Received, 'chat' | 'messageRef'>,
    text: string | undefined,
  ): Promise<void> {
    if (!text) return
    const pace = pacerOf(rest, clock).chat(chat, discordLimits)
    const nonce = `answer${messageRef.id}`.slice(-nonceLength)
    const body = {
      content: oneMessage(text),
      ...around({ silent: false, replyTo: messageRef, nonce }),
    }
    await waitForTurn(pace, clock, () => rest.post(`/channels/${chat.id}/messages`, { body }))
  }
}
