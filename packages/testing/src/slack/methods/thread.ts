import { limits } from '../limits.ts'
import { mentionsIn } from '../mention.ts'
import { type Payload, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, type SlackState } from '../state.ts'
import type { Result } from './chat.ts'

export function setStatus(state: SlackState, payload: Payload): Result {
  if (!state.features.statuses) throw new Refusal('unknown_method')
  const channel = channelIn(state, payload, 'channel_id')
  const threadTs = required(payload, 'thread_ts')
  if (!channel.posts.has(threadTs)) throw new Refusal('thread_not_found')
  const status = textIn(payload, 'status') ?? ''
  state.mentions.push(...mentionsIn(status))
  if (status === '') channel.statuses.delete(threadTs)
  else channel.statuses.set(threadTs, { status, until: state.clock.now() + limits.statusMs })
  state.changed(channel)
  return {}
}

const states: ReadonlySet<string> = new Set(['active', 'processing', 'suspended', 'closed'])

/** The possible states of an agent's session. */
export function stateIn(status: string): string {
  if (states.has(status)) return status
  throw new Refusal('invalid_status')
}

export function setSession(state: SlackState, payload: Payload): Result {
  if (!state.features.sessions) throw new Refusal('not_authorized')
  const channel = channelIn(state, payload, 'channel_id')
  channel.sessions.set(required(payload, 'thread_ts'), stateIn(required(payload, 'status')))
  state.changed(channel)
  return {}
}
