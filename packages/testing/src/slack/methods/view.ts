import { type Payload, parsed, required } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { viewOf } from '../view.ts'
import type { World } from '../world.ts'
import type { Result } from './chat.ts'

export function openView(world: World, payload: Payload): Result {
  const trigger = required(payload, 'trigger_id')
  const known = world.triggers.get(trigger)
  if (!known) throw new Refusal('invalid_trigger_id')
  world.triggers.delete(trigger)
  if (known.until < world.clock.now()) throw new Refusal('expired_trigger_id')
  const { view: given } = payload
  const source = typeof given === 'string' ? parsed(given) : given
  const view = viewOf(source, { id: world.nextId('V'), user: known.user })
  world.views.set(view.user, view)
  return { view: { id: view.id } }
}
