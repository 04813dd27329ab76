import { limits } from '../limits.ts'
import { type Payload, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, type World } from '../world.ts'
import type { Result } from './chat.ts'

export function setStatus(world: World, payload: Payload): Result {
  if (!world.features.statuses) throw new Refusal('unknown_method')
  const channel = channelIn(world, payload, 'channel_id')
  const threadTs = required(payload, 'thread_ts')
  if (!channel.posts.has(threadTs)) throw new Refusal('thread_not_found')
  const status = textIn(payload, 'status') ?? ''
  if (status === '') channel.statuses.delete(threadTs)
  else channel.statuses.set(threadTs, { status, until: world.clock.now() + limits.statusMs })
  world.changed(channel)
  return {}
}

const states: ReadonlySet<string> = new Set(['active', 'processing', 'suspended', 'closed'])

export function setSession(world: World, payload: Payload): Result {
  if (!world.features.sessions) throw new Refusal('not_authorized')
  const channel = channelIn(world, payload, 'channel_id')
  const status = required(payload, 'status')
  if (!states.has(status)) throw new Refusal('invalid_status')
  channel.sessions.set(required(payload, 'thread_ts'), status)
  world.changed(channel)
  return {}
}
