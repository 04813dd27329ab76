import { limits } from '../limits.ts'
import { textIn } from '../payload.ts'
import { refusals, tooLong } from '../refusal.ts'
import type { Call } from './all.ts'

/** The first answer to an interaction. https://discord.com/developers/docs/interactions/receiving-and-responding */
export function callback({ state, payload, rest }: Call): undefined {
  const known = state.interactions.byToken(rest)
  if (!known) throw refusals.unknownInteraction()
  known.answer(payload.fields)
}

/** A further answer, as a message of the interaction's webhook. */
export function followUp({ state, payload, rest }: Call): unknown {
  const known = state.interactions.byToken(rest)
  if (!known) throw refusals.unknownWebhook()
  if ((textIn(payload, 'content') ?? '').length > limits.content) throw tooLong('content', limits.content)
  known.followUp(payload.fields)
  return { id: state.nextId() }
}
