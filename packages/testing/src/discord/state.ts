import type { TestClock } from '../clock.ts'
import { type Allowance, createWindowBudget, type WindowBudget } from '../platform/budget.ts'
import { createPlaces } from '../platform/fake.ts'
import { type Channel, createChannel, type FakeDiscordChannel, type Post } from './channel.ts'
import { createInteractions, type Interactions } from './interaction.ts'
import { buckets, type DiscordBucket, limits } from './limits.ts'
import { refusals } from './refusal.ts'
import { silentFlag } from './screen.ts'
import type { DiscordOptions } from './start.ts'
import type { Me } from './wire.ts'

/** The state of the fake. */
export interface DiscordState {
  readonly clock: TestClock
  readonly me: Me
  readonly buckets: WindowBudget
  readonly allowances: Readonly<Record<DiscordBucket, Allowance>>
  readonly interactions: Interactions
  /** Where files are, without a slash at the end. */
  readonly cdn: () => string
  /** The bot's commands. */
  commands: readonly string[]
  /** Undefined if it doesn't exist. */
  channel(id: string): Channel | undefined
  /** The thread of a message. Undefined if it has none. */
  threadOf(messageId: string): Channel | undefined
  /** The threads of a channel. */
  threads(parentId: string): readonly Channel[]
  add(channel: FakeDiscordChannel): Channel
  /** A new snowflake, greater than all before. */
  nextId(): string
  /**
   * The message recently posted with a nonce, in any channel, because nonces are per author. Undefined if there is
   * none.
   */
  postedWithNonce(nonce: string): { readonly post: Post; readonly channel: Channel } | undefined
  /** Notifies observers that a person in the channel now sees something else. */
  changed(channel: Channel): void
}

/**
 * Returns the bot and its channels without messages. `onChange` gets the id of each channel that now looks different.
 */
export function createState(
  { channels, allowances, nonceMs = limits.nonceMs }: Pick<DiscordOptions, 'channels' | 'allowances' | 'nonceMs'>,
  clock: TestClock,
  cdn: () => string,
  onChange: (channelId: string) => void,
): DiscordState {
  const places = createPlaces<string, FakeDiscordChannel, Channel>(channels, createChannel)
  return {
    clock,
    me: { id: '700000000000000001', username: 'reply' },
    buckets: createWindowBudget(clock),
    allowances: { ...buckets, ...allowances },
    interactions: createInteractions(clock),
    cdn,
    commands: [],
    channel: places.get,
    threadOf: (messageId) => places.all.get(messageId),
    threads: (parentId) => [...places.all.values()].filter((channel) => channel.parentId === parentId),
    add: places.add,
    nextId: createSnowflakes(clock),
    postedWithNonce: (nonce) => {
      for (const channel of places.all.values())
        for (const post of channel.posts.values())
          if (post.nonce === nonce && clock.now() - post.at < nonceMs) return { post, channel }
      return undefined
    },
    changed: ({ id }) => onChange(id),
  }
}

/** Returns a channel that the bot may write to. Throws a `Refusal` if it doesn't exist or is closed. */
export function channelIn(state: DiscordState, id: string): Channel {
  const channel = state.channel(id)
  if (!channel) throw refusals.unknownChannel()
  if (channel.isClosed) throw refusals.missingPermissions()
  return channel
}

/** Returns a message of a channel. Throws a `Refusal` if there is none. */
export function postIn(channel: Channel, id: string): Post {
  const post = channel.posts.get(id)
  if (!post) throw refusals.unknownMessage()
  return post
}

/**
 * Adds a message to a channel under a new id, counts its notification, and notifies observers. The bot's message ends
 * its typing indicator there.
 */
export function addPost(
  state: DiscordState,
  channel: Channel,
  post: Omit<Post, 'id' | 'at' | 'editedTimes' | 'reactions'>,
): Post {
  const put: Post = { ...post, id: state.nextId(), at: state.clock.now(), editedTimes: 0, reactions: [] }
  channel.posts.set(put.id, put)
  if (put.from === 'bot') channel.typingUntil = 0
  if (put.from === 'bot' && (put.flags & silentFlag) === 0) channel.notifications += 1
  state.changed(channel)
  return put
}

/** Ids begin with the time since 2015. https://discord.com/developers/docs/reference#snowflakes */
const epochMs = Date.UTC(2015, 0, 1)

/** Returns a function that makes ids: the present time, or one more than the previous id if that isn't greater. */
function createSnowflakes(clock: TestClock): () => string {
  let last = 0n
  return () => {
    const earliest = BigInt(Math.floor(clock.now()) - epochMs) << 22n
    last = earliest > last ? earliest : last + 1n
    return String(last)
  }
}
