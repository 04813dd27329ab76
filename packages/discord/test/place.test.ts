import { answerWith, type Inbound } from '@reply/sink'
import { afterEach, expect, test } from 'vitest'
import { asks, replyWith } from '../../sink/test/make.ts'
import { type DiscordChannel, discordChannel } from '../src/index.ts'
import { channelId, person, start, until } from './bot.ts'

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()))
})

const threadId = '100000000000000013'

test.each<[string, { id: string; kind: 'text' | 'thread' | 'direct' }]>([
  ['in a thread made for it', { id: channelId, kind: 'text' }],
  ['in a thread, which can have none of its own', { id: threadId, kind: 'thread' }],
  ['in a direct message, which has none', { id: channelId, kind: 'direct' }],
])('%s, an ask is answered in the place that shows it', async (_, place) => {
  const { discord, rest, clock } = await start({ channels: [place] })
  const given: unknown[] = []
  const answered = answerWith({
    client: { answer: async (__, value) => void given.push(value), reject: async () => {}, abort: async () => {} },
    running: () => [{ sink, stream: { abort: async () => expect.fail() } }],
  })
  const handled: Promise<boolean>[] = []
  const onInbound = (inbound: Inbound): unknown => handled.push(answered(inbound))
  const channel: DiscordChannel = discordChannel({ rest, clock, updates: 'own', onInbound })
  const messageId = discord.say(place.id, 'Go', { from: person })
  const sink = channel.sinkFor({ chat: { id: place.id }, replyTo: { id: messageId } }, { thread: true })
  stops.push(
    () => sink.stop(),
    () => channel.stop(),
  )
  sink.replyStarted?.({ type: 'replyStarted', reply: replyWith([], { phase: 'blocked', asks: [asks()] }) })
  const at = place.kind === 'text' ? messageId : place.id
  const ours = () =>
    place.kind !== 'text' || discord.threads(channelId).length > 0
      ? discord.screen(at).filter(({ from }) => from === 'bot')
      : []
  await until(() => {
    void clock.advance(100)
    return ours().some(({ rows }) => rows.length > 0)
  })
  const [button] = ours().flatMap(({ rows }) => rows.flat())
  const d = { id: '1500000000000000000', token: 't', application_id: '7', type: 3, channel_id: at }
  const pressed = { message: { id: ours()[0]?.messageId }, data: { custom_id: button?.customId } }
  const user = { id: person.id, username: 'ada' }
  void channel.handleEvent({ t: 'INTERACTION_CREATE', d: { ...d, ...pressed, user } })
  await until(() => given.length === 1)
  expect(await handled[0]).toBe(true)
})
