import { type ChannelContractOptions, portContract, type Stage, type StageFault } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { type DiscordFault, type DiscordMessage, startDiscord } from '@reply/testing/discord'
import { describe, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { createNews } from '../../sink/test/news.ts'
import { createDiscordPort, renderDiscord } from '../src/internal.ts'
import { channelId, clientOf, token, watched } from './bot.ts'

const otherId = '100000000000000002'
const foreign = 'Cannot edit a message authored by another user'
const faults: Readonly<Partial<Record<StageFault, DiscordFault>>> = {
  'rate-limited': { type: 'rate-limited', retryAfterS: 3 },
  refused: { type: 'status', status: 403, code: 50013, message: 'Missing Permissions' },
  unanswered: { type: 'accept-then-drop' },
  fixed: { type: 'status', status: 403, code: 50005, message: foreign },
}

/** A channel of the fake Discord, or a thread in it, reached through the real client. */
async function stageOf(isThread: boolean): Promise<Stage> {
  const clock = createHandClock()
  const discord = await startDiscord({ token, clock })
  const messageId = discord.say(channelId, 'Why?')
  const thread = isThread ? { messageId, name: 'Why?' } : undefined
  const at = isThread ? messageId : otherId
  let isBare = true
  // Most clauses post faster than a channel allows, because they use no pacer. Here the waiting time passes by itself.
  const inFlight = createInFlight()
  const client = watched(clientOf(discord, clock), inFlight, async () => {
    if (inFlight.count === 1 && isBare) await clock.advance(1100)
  })
  const rung = createNews(() => discord.mentions(at))
  return {
    port: createDiscordPort({ rest: client, channelId: isThread ? channelId : otherId, thread, clock }),
    render: renderDiscord,
    chat: { id: at },
    clock,
    pass: async (ms) => {
      isBare = false
      await clock.advance(ms, inFlight.rest)
    },
    screen: () => discord.screen(at).flatMap((message) => (message.from === 'bot' ? [seen(message)] : [])),
    faults: ['rate-limited', 'refused', 'unanswered', 'fixed'],
    limitMs: 3000,
    failNext: (fault) => {
      const befalling = faults[fault]
      if (befalling) discord.inject({ ...befalling, call: ['post', 'edit', 'remove'] })
    },
    writeText: (text) => ({ id: discord.say(at, text) }),
    deleteMessage: (id) => discord.remove(at, id),
    notifications: () => discord.notifications(at),
    mentions: { actor: { id: '5', name: 'Ann' }, in: () => rung().map((mark) => mark.replace(/\D/g, '')) },
    secrets: [token],
    close: () => discord.close(),
  }
}

/** Button data has our prefix on Discord; presses come back without it. */
function seen({
  messageId,
  text,
  isSilent,
  rows,
  replyTo,
  files,
}: DiscordMessage): ReturnType<Stage['screen']>[number] {
  const buttons = rows.map((row) =>
    row.flatMap((each) =>
      each.type === 'button' ? [{ label: each.label, data: each.customId.replace(/^reply:/, '') }] : [],
    ),
  )
  return {
    id: messageId,
    text,
    isSilent,
    buttons,
    replyTo,
    fileName: files[0]?.name,
    fileNames: files.map(({ name }) => name),
    // The apps show a picture by its type.
    isPicture: /\.(?:png|jpg|gif|webp)$/.test(files[0]?.name ?? ''),
    fileText: files[0] && new TextDecoder().decode(files[0].bytes),
  }
}

const open = 'Discord never says that a call did not arrive: a 5xx leaves it open'
const skip: ChannelContractOptions['skip'] = {
  'reports later whether a post was delivered': 'Discord says everything in its responses',
  'reports a call that did not arrive': open,
  'reports faults of edits and removals like those of posts': open,
  'shows a reply once when the first post is unreachable': open,
  'finds a post with an unknown result, or resolves with unknown': 'Discord takes a key with a message',
  'reports refused markup, or posts without it': 'Discord never refuses markup',
  'shows a reply once when the first post is unparsable': 'Discord never refuses markup',
  'writes a preview that is not a message': 'Discord has no stream of its own',
  'appends to a stream, which can be edited once closed': 'Discord has no stream of its own',
}

describe.each([
  ['a channel', false],
  ['a thread', true],
])('%s', (name, isThread) => {
  const clauses = portContract({ name, setup: () => stageOf(isThread), skip })
  test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
})
