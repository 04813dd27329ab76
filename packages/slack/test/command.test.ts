import type { Inbound } from '@reply/sink'
import { afterEach, expect, test } from 'vitest'
import { settledWith, text } from '../../sink/test/make.ts'
import { listen } from '../../testing/test/listen.ts'
import { type SlackChannel, slackChannel } from '../src/index.ts'
import { signingSecret, socketOf, start, until } from './app.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function open(events: 'http' | 'socket', onInbound: (inbound: Inbound) => unknown = () => {}) {
  const { slack, api, clock } = await start()
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel: SlackChannel = slackChannel({
    api,
    clock,
    events,
    signingSecret,
    socket: socketOf(slack),
    commands: ['ask', 'help'],
    onError: (error) => errors.push(error),
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
  })
  channel.start()
  stops.push(() => channel.stop())
  const hook = await listen(channel.listener)
  stops.push(hook.stop)
  if (events === 'http') slack.sendTo(`${hook.url}/`)
  else await until(() => slack.sockets === 1)
  return { slack, api, clock, channel, received, errors, url: `${hook.url}/` }
}

// https://docs.slack.dev/interactivity/implementing-slash-commands: a form post, confirmed by a 200 within 3 s.
test.each(['http', 'socket'] as const)(
  'a slash command arrives as a text if the channel is to take it; each is acknowledged, by %s',
  async (events) => {
    const { slack, received, errors } = await open(events)
    expect(await slack.command('C1', '/ask', 'Why <this> & that?', { from: { id: 'U5', name: 'Ada' } })).toBe(true)
    expect(await slack.command('C1', '/deploy', 'now')).toBe(true)
    expect(await slack.command('D1', '/help')).toBe(true)
    await until(() => received.length === 2)
    expect(received).toMatchObject([
      {
        type: 'text',
        text: '/ask Why <this> & that?',
        isCommand: true,
        chat: { id: 'C1', kind: 'shared' },
        actor: { id: 'U5', name: 'Ada' },
      },
      { type: 'text', text: '/help', isCommand: true, chat: { id: 'D1', kind: 'private' } },
    ])
    expect(received[0]?.chat).not.toHaveProperty('thread')
    expect(errors).toEqual([])
  },
)

test('only the person who gave a command sees the answer, and a sink for it posts outside of threads', async () => {
  const { slack, received, channel, errors, clock } = await open('http', (inbound) =>
    inbound.type === 'text' ? inbound.answer('On it.') : undefined,
  )
  await slack.command('C1', '/ask', 'Why?')
  await until(() => slack.whispers.length === 1)
  expect(slack.whispers).toMatchObject([{ user: 'U1', channel: 'C1', text: 'On it.' }])
  const [inbound] = received
  if (!inbound) throw new Error('no command')
  const sink = channel.sinkFor(inbound, { policy: { delivery: 'final' } })
  stops.push(() => sink.stop())
  sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('Because.')]) })
  await clock.advance(5000)
  await until(() => slack.screen('C1').length === 1)
  expect([slack.screen('C1')[0]?.text, slack.screen('C1')[0]?.threadTs, errors]).toEqual(['Because.', undefined, []])
})

// Slack checks the certificate of a command's URL: "please do confirm receipt". Bolt's `HTTPModuleFunctions` takes the
// check without a signature.
test.each<[string, string, number]>([
  ['a check of the certificate', 'ssl_check=1&token=a-token', 200],
  ['another check', 'ssl_check=0&token=a-token', 401],
  ['a command that claims to be one', 'ssl_check=1&command=%2Fask&text=x', 401],
  ['an interaction that claims to be one', 'ssl_check=1&payload=%7B%7D', 401],
  ['a longer one', `ssl_check=1&token=${'x'.repeat(200)}`, 401],
])('an unsigned form that is %s gets its status and causes nothing', async (_, body, status) => {
  const { url, received, errors, channel } = await open('http')
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(status)
  await channel.stop()
  expect([received, errors]).toEqual([[], []])
})
