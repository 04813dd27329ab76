import { type Payload, parsed, required } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import type { SlackState } from '../state.ts'
import { viewOf } from '../view.ts'
import type { Result } from './chat.ts'

export function openView(state: SlackState, payload: Payload): Result {
  const trigger = required(payload, 'trigger_id')
  const known = state.triggers.get(trigger)
  if (!known) throw new Refusal('invalid_trigger_id')
  state.triggers.delete(trigger)
  if (known.until < state.clock.now()) throw new Refusal('expired_trigger_id')
  const { view: given } = payload
  const source = typeof given === 'string' ? parsed(given) : given
  const view = viewOf(source, { id: state.nextId('V'), user: known.user })
  state.views.set(view.user, view)
  return { view: { id: view.id } }
}
