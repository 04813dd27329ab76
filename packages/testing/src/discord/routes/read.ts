import { invalidForm } from '../refusal.ts'
import { channelIn } from '../state.ts'
import { channelOf, messageOf } from '../wire.ts'
import type { Call } from './all.ts'

/** https://docs.discord.com/developers/resources/message#get-channel-messages */
const [usualCount, mostCount] = [50, 100]

/** https://docs.discord.com/developers/resources/channel#get-channel */
export function readChannel({ state, channelId }: Call): unknown {
  const channel = channelIn(state, channelId)
  return { ...channelOf(channel), last_message_id: [...channel.posts.keys()].at(-1) ?? null }
}

/**
 * Newest first. After an id come those right behind it, not the newest: discord.py pages like that (`_after_strategy` in
 * `discord/abc.py`). The messages lack what only the gateway adds.
 */
export function readMessages({ state, channelId, query }: Call): unknown {
  const channel = channelIn(state, channelId)
  const count = Number(query.get('limit') ?? usualCount)
  if (!(count >= 1 && count <= mostCount))
    throw invalidForm('limit', 'NUMBER_TYPE_MAX', 'int value should be between 1 and 100.')
  const after = query.get('after')
  const posts = [...channel.posts.values()]
  const found =
    after === null ? posts.slice(-count) : posts.filter(({ id }) => BigInt(id) > BigInt(after)).slice(0, count)
  return found.toReversed().map((post) => messageOf(post, channel, state.me, state.cdn()))
}
