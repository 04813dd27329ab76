import { type Payload, required } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, replacePost, type SlackState } from '../state.ts'
import type { Result } from './chat.ts'

export function addReaction(state: SlackState, payload: Payload): Result {
  return react(state, payload, (before, name) => {
    if (before.includes(name)) throw new Refusal('already_reacted')
    return [...before, name]
  })
}

export function removeReaction(state: SlackState, payload: Payload): Result {
  return react(state, payload, (before, name) => {
    if (!before.includes(name)) throw new Refusal('no_reaction')
    return before.filter((one) => one !== name)
  })
}

function react(
  state: SlackState,
  payload: Payload,
  change: (before: readonly string[], name: string) => readonly string[],
): Result {
  const channel = channelIn(state, payload)
  const post = channel.posts.get(required(payload, 'timestamp'))
  if (!post) throw new Refusal('message_not_found')
  replacePost(state, channel, { ...post, reactions: change(post.reactions, required(payload, 'name')) })
  return {}
}
