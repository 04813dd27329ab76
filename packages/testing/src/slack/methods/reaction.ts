import { type Payload, required } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, replacePost, type World } from '../world.ts'
import type { Result } from './chat.ts'

export function addReaction(world: World, payload: Payload): Result {
  return react(world, payload, (before, name) => {
    if (before.includes(name)) throw new Refusal('already_reacted')
    return [...before, name]
  })
}

export function removeReaction(world: World, payload: Payload): Result {
  return react(world, payload, (before, name) => {
    if (!before.includes(name)) throw new Refusal('no_reaction')
    return before.filter((one) => one !== name)
  })
}

function react(
  world: World,
  payload: Payload,
  change: (before: readonly string[], name: string) => readonly string[],
): Result {
  const channel = channelIn(world, payload)
  const post = channel.posts.get(required(payload, 'timestamp'))
  if (!post) throw new Refusal('message_not_found')
  replacePost(world, channel, { ...post, reactions: change(post.reactions, required(payload, 'name')) })
  return {}
}
