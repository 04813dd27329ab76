import type { Inbound } from '@reply/sink'
import type { InboundStatus } from '@reply/sink/channel'
import { backOffMs } from '@reply/sink/internal'
import { WebClient } from '@slack/web-api'
import { afterEach, describe, expect, test } from 'vitest'
import { settledWith, text } from '../../sink/test/make.ts'
import { type SlackChannel, type SlackChannelOptions, slackChannel } from '../src/index.ts'
import { ending, type Started, signingSecret, socketOf, start, until } from './app.ts'

interface Receiver extends Started {
  readonly channel: SlackChannel
  readonly received: Inbound[]
  readonly errors: Error[]
}

const begun: SlackChannel[] = []
afterEach(async () => {
  await Promise.all(begun.splice(0).map((channel) => channel.stop()))
})

/** A channel on a real socket. */
async function receive(
  given: Partial<SlackChannelOptions> = {},
  onInbound: (inbound: Inbound) => unknown = () => {},
): Promise<Receiver> {
  const started = await start()
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel = slackChannel({
    api: started.api,
    clock: started.clock,
    events: 'socket',
    socket: socketOf(started.slack),
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
    onError: (error) => errors.push(error),
    ...given,
  })
  begun.push(channel)
  channel.start()
  if (given.events === undefined) await until(() => started.slack.sockets === 1)
  return { ...started, channel, received, errors }
}

describe('inbound', () => {
  test('a text with a forwarded message is marked as forwarded', async () => {
    const { slack, received } = await receive()
    slack.say('D1', '1', { forwards: 'Shall I?' })
    slack.say('D1', '1')
    await until(() => received.length === 2)
    expect(received).toMatchObject([{ text: '1', isForwarded: true }, { text: '1' }])
    expect(received[1]).not.toHaveProperty('isForwarded')
  })

  test('a text to the bot has its actor, chat and thread', async () => {
    const { slack, received } = await receive()
    const ts = slack.say('C1', 'Why <this> & that?', { mention: true, from: { id: 'U5', name: 'Ada' } })
    await until(() => received.length === 1)
    expect(received).toMatchObject([
      {
        type: 'text',
        chat: { id: 'C1', thread: ts },
        actor: { id: 'U5', name: 'Ada' },
        text: 'Why <this> & that?',
        messageRef: { id: ts },
        isCommand: false,
      },
    ])
  })

  test('later messages in that thread need no mention; other messages of the channel are ignored', async () => {
    const { slack, received } = await receive()
    slack.say('C1', 'Chatter')
    const other = slack.say('C1', 'Another matter')
    slack.say('C1', 'An answer to it', { threadTs: other })
    const root = slack.say('C1', 'Hi', { mention: true })
    await until(() => received.length === 1)
    slack.say('C1', '/stop', { threadTs: root })
    slack.say('D1', 'In private')
    await until(() => received.length === 3)
    expect(received.map((one) => (one.type === 'text' ? [one.text, one.isCommand] : []))).toEqual([
      ['Hi', false],
      ['/stop', true],
      ['In private', false],
    ])
    expect(received[1]?.chat).toEqual({ id: 'C1', kind: 'shared', thread: root })
  })

  test('messages in a thread that the host writes to need no mention', async () => {
    const { slack, received, channel } = await receive()
    const root = slack.say('C1', 'An old thread')
    channel.sinkFor({ chat: { id: 'C1', thread: root } })
    slack.say('C1', 'yes', { threadTs: root })
    await until(() => received.some((one) => one.type === 'text' && one.text === 'yes'))
  })

  test('only the person who pressed sees the answer to a press', async () => {
    const { slack, api, received } = await receive({}, async (inbound) => {
      if (inbound.type !== 'press' || inbound.isForeign) return
      await inbound.answer('Taken <so>.')
      await inbound.answer('Twice.')
    })
    const root = slack.say('C1', 'Go')
    const button = {
      type: 'button',
      action_id: 'reply.button.0.0',
      text: { type: 'plain_text', text: 'Yes' },
      value: 'r~t',
    }
    const foreign = { ...button, action_id: 'theirs', text: { type: 'plain_text', text: 'Other' } }
    const blocks = [{ type: 'actions', elements: [button, foreign] }]
    const { ts = '' } = await api.chat.postMessage({ channel: 'C1', thread_ts: root, text: '?', blocks })
    expect(await slack.press('C1', ts, 'Other')).toBe(true)
    expect(await slack.press('C1', ts, 'Yes', { from: { id: 'U5', name: 'Ada' } })).toBe(true)
    await until(() => slack.whispers.length === 1)
    expect(slack.whispers).toMatchObject([{ user: 'U5', channel: 'C1', threadTs: root, text: 'Taken <so>.' }])
    expect(received).toMatchObject([
      { type: 'press', token: 'theirs', values: [['r~t']], isForeign: true },
      {
        type: 'press',
        token: 'r~t',
        chat: { id: 'C1', thread: root },
        actor: { id: 'U5', name: 'Ada' },
        messageRef: { id: ts },
      },
    ])
    expect(slack.count('chat.postEphemeral')).toBe(1)
  })

  test("Slack's Stop button is a stop", async () => {
    const { slack, api, received } = await receive()
    const root = slack.say('D1', 'Go')
    await api.apiCall('agents.sessions.setStatus', { channel_id: 'D1', thread_ts: root, status: 'processing' })
    expect(await slack.stop('D1', root)).toBe(true)
    await until(() => received.length === 2)
    expect(received[1]).toEqual({
      type: 'stop',
      chat: { id: 'D1', kind: 'private', thread: root },
      actor: { id: 'U1', name: 'U1' },
    })
  })

  test('each event is passed on once, however often it is sent', async () => {
    const { slack, received, clock } = await receive()
    slack.repeatNext()
    slack.say('C1', 'one', { mention: true })
    slack.repeatNext()
    slack.say('D1', 'two')
    await until(() => received.length === 2)
    await clock.advance(600_000)
    expect(received).toMatchObject([{ text: 'one' }, { text: 'two' }])
  })

  test('messages from bots are ignored', async () => {
    const { channel, received, errors, slack } = await receive()
    const event = { type: 'message', channel: 'D1', channel_type: 'im', ts: '1.1', text: 'x', user: 'U9' }
    const body = { type: 'event_callback', event_id: 'E1', authorizations: [{ user_id: slack.bot }] }
    await channel.handleEvent({ ...body, event: { ...event, bot_id: 'B1' } })
    await channel.handleEvent({ ...body, event: { ...event, user: slack.bot } })
    await channel.handleEvent({ ...body, event: { ...event, subtype: 'message_changed' } })
    await channel.handleEvent({ ...body, event: { type: 'team_join', user: {} } })
    expect([received, errors]).toEqual([[], []])
  })
})

test("a text's answer is a message in its thread", async () => {
  const { slack } = await receive({}, (inbound) => (inbound.type === 'text' ? inbound.answer('No <such> option.') : {}))
  const root = slack.say('C1', 'Purple', { mention: true })
  await until(() => slack.screen('C1').length === 2)
  expect(slack.screen('C1')[1]).toMatchObject({ text: 'No <such> option.', threadTs: root })
})

test("a text's answer has no link previews", async () => {
  const { slack } = await receive({}, (inbound) => (inbound.type === 'text' ? inbound.answer('https://a.example') : {}))
  slack.say('C1', 'Purple', { mention: true })
  await until(() => slack.screen('C1').length === 2)
  const posted = slack.calls.findLast(({ method }) => method === 'chat.postMessage')
  expect(posted?.payload).toMatchObject({ unfurl_links: 'false', unfurl_media: 'false', parse: 'none' })
})

describe('an answer that fails', () => {
  test('times out without a confirmation, and the sinks of that channel go on', async () => {
    const { slack, clock, errors, channel } = await receive({ timeoutMs: 2000 }, (inbound) =>
      inbound.type === 'text' ? inbound.answer('No such option.') : {},
    )
    slack.inject({ type: 'stall', method: 'chat.postMessage' })
    const root = slack.say('C1', 'Purple', { mention: true })
    await until(() => slack.count('chat.postMessage') === 1)
    const sink = channel.sinkFor({ chat: { id: 'C1', thread: root } }, { policy: { delivery: 'final' } })
    const reply = settledWith([text('Done so.')])
    sink.replyStarted?.({ type: 'replyStarted', reply })
    await clock.advance(2000)
    await until(() => errors.length > 0 && clock.pending > 0)
    await clock.advance(2000)
    await until(() => slack.screen('C1').length === 2)
    expect(errors).toMatchObject([{ type: 'answer', message: /no response within 2000 ms/ }])
    expect(slack.screen('C1')[1]?.text).toBe('Done so.')
  })

  test('does not block stop', async () => {
    const { slack, clock, channel, errors, api } = await receive({ timeoutMs: 2000 })
    slack.inject({ type: 'stall', method: 'views.open' })
    const value = JSON.stringify({ t: 'a', l: 'Answer', q: [{ h: 'H', q: 'Q', o: [] }] })
    const label = { type: 'plain_text', text: 'Answer' } as const
    const button = { type: 'button', action_id: 'reply.form', text: label, value } as const
    const blocks = [{ type: 'actions', elements: [button] }]
    const { ts = '' } = await api.chat.postMessage({ channel: 'D1', text: '?', blocks })
    await slack.press('D1', ts, 'Answer')
    await until(() => slack.count('views.open') === 1)
    const stopped = channel.stop()
    await clock.advance(2000)
    await stopped
    expect(errors).toMatchObject([{ type: 'answer' }])
  })
})

describe('the host', () => {
  test('gets its error reported; Slack has its acknowledgement before', async () => {
    const { slack, errors, received } = await receive({}, () => Promise.reject(new Error('broken')))
    slack.say('D1', 'x')
    await until(() => errors.length === 1)
    expect(errors).toMatchObject([{ type: 'inbound', message: 'A text in chat D1 failed: broken' }])
    expect(received).toHaveLength(1)
  })

  test('may take any time: the next event is passed on in parallel', async () => {
    const { slack, received } = await receive({}, () => new Promise(() => {}))
    slack.say('D1', 'one')
    slack.say('D1', 'two')
    await until(() => received.length === 2)
    begun.length = 0
  })

  test('can pass on events of its own app, and gets unreadable ones reported', async () => {
    const { channel, received, errors } = await receive({ events: 'own' })
    const event = { type: 'app_mention', channel: 'C1', ts: '1.1', text: '<@U0BOT> Hi', user: 'U5' }
    const body = { type: 'event_callback', event_id: 'E1', authorizations: [{ user_id: 'U0BOT' }], event }
    await Promise.all([channel.handleEvent(body), channel.handleEvent({ ...body, event_id: 'E2' })])
    await channel.handleEvent({ nothing: true })
    await channel.handleEvent({ ...body, event: { type: 'message', ts: 7 } })
    expect(received).toMatchObject([{ text: 'Hi', actor: { id: 'U5', name: 'U5' } }])
    expect(errors).toMatchObject([{ type: 'malformed' }, { type: 'malformed' }])
  })
})

describe('the socket', () => {
  test('reconnects when Slack asks for it', async () => {
    const { slack, received, errors, clock } = await receive()
    slack.recycle()
    await until(() => slack.sockets === 0 && clock.pending > 0)
    await clock.advance(1000)
    await until(() => slack.sockets === 1)
    slack.say('D1', 'after it')
    await until(() => received.length === 1)
    expect(errors).toEqual([])
  })

  test('retries with growing delays and reports why', async () => {
    const { slack, errors, clock } = await receive()
    slack.inject({ method: 'apps.connections.open', type: 'status', code: 503, times: 2 })
    slack.recycle()
    for (const [index, waitMs] of [1000, 2000, 4000].entries()) {
      await until(() => clock.pending > 0 && errors.length === index && slack.sockets === 0)
      await clock.advance(waitMs - 1)
      expect([slack.sockets, clock.pending]).toEqual([0, 1])
      await clock.advance(1)
    }
    await until(() => slack.sockets === 1)
    expect(errors).toMatchObject([{ type: 'updates', message: 'The socket to Slack failed: status 503.' }, {}])
  })

  test('is closed by stop, and later events are ignored', async () => {
    const { slack, received, channel } = await receive()
    await channel.stop()
    await until(() => slack.sockets === 0)
    slack.say('D1', 'too late')
    await channel.stop()
    expect(received).toEqual([])
  })

  test('that is stopped while connecting is closed once connected', async () => {
    const started = await start({
      faults: [{ type: 'delay', delayMs: 500, method: 'apps.connections.open' }],
    })
    const { slack, api, clock } = started
    const channel = slackChannel({ api, clock, events: 'socket', socket: socketOf(started.slack), onInbound: () => {} })
    channel.start()
    await until(() => slack.count('apps.connections.open') === 1)
    await channel.stop()
    await clock.advance(500)
    let wasOpen = false
    await until(() => {
      wasOpen ||= slack.sockets === 1
      return wasOpen && slack.sockets === 0
    })
  })

  test('retries after a connect timeout and reports it', async () => {
    const started = await start({ faults: [{ type: 'stall', method: 'apps.connections.open' }] })
    const { slack, api, clock } = started
    const errors: Error[] = []
    const onError = (error: Error): unknown => errors.push(error)
    const options = { api, clock, socket: socketOf(started.slack), onInbound: () => {}, onError }
    const channel = slackChannel({ ...options, events: 'socket' })
    begun.push(channel)
    channel.start()
    await until(() => slack.count('apps.connections.open') === 1)
    await clock.advance(30_000)
    expect(errors).toMatchObject([{ type: 'updates', message: /no connection within 30000 ms/ }])
    await clock.advance(1000)
    await until(() => slack.sockets === 1 && clock.pending === 0)
  })

  test('with a wrong token reports the cure, but not the token', async () => {
    const started = await start()
    const errors: Error[] = []
    const socket = socketOf(started.slack, 'xapp-very-secret-and-wrong')
    const onError = (error: Error): unknown => errors.push(error)
    const channel = slackChannel({ api: started.api, events: 'socket', socket, onInbound: () => {}, onError })
    channel.start()
    await until(() => errors.length === 1)
    expect(await ending(Promise.reject(errors[0]))).toMatchObject({ type: 'unauthorized' })
  })

  test('that Slack refuses for a while is tried again and again, told, and works again', async () => {
    const told: InboundStatus[] = []
    const { slack, errors, clock, received } = await receive({ onInboundStatus: (state) => void told.push(state) })
    slack.inject({ method: 'apps.connections.open', type: 'error', error: 'invalid_auth', times: 9 })
    slack.recycle()
    await until(() => slack.sockets === 0 && clock.pending > 0)
    await clock.advance(1000)
    for (let count = 1; count <= 9; count++) {
      await until(() => errors.length === count && clock.pending > 0)
      await clock.advance(Math.min(300_000, 5000 * 2 ** (count - 1)))
    }
    await until(() => slack.sockets === 1)
    slack.say('D1', 'after it')
    await until(() => received.length === 1)
    expect(told).toMatchObject([
      { status: 'receiving' },
      { status: 'disconnected', reason: expect.stringContaining("rejected the app's token (invalid_auth)") },
      { status: 'receiving' },
    ])
  })

  test('that can not connect for a minute is told', async () => {
    const told: InboundStatus[] = []
    const { slack, errors, clock } = await receive({ onInboundStatus: (state) => void told.push(state) })
    slack.inject({ method: 'apps.connections.open', type: 'status', code: 503, times: 6 })
    slack.recycle()
    await until(() => slack.sockets === 0)
    // The first wait, of a second, is the one after the connection ended.
    for (let count = 0; count <= 6; count++) {
      await until(() => errors.length === count && clock.pending > 0)
      await clock.advance(backOffMs(count))
    }
    await until(() => told.at(-1)?.status === 'receiving')
    expect(told).toMatchObject([{}, { status: 'disconnected', reason: 'The socket to Slack failed: status 503.' }, {}])
  })

  test('without a server reports it, but not the token', async () => {
    const started = await start()
    const errors: Error[] = []
    const onError = (error: Error): unknown => errors.push(error)
    const options = { api: started.api, socket: socketOf(started.slack), onInbound: () => {}, onError }
    await started.slack.close()
    const channel = slackChannel({ ...options, events: 'socket' })
    begun.push(channel)
    channel.start()
    await until(() => errors.length === 1)
    expect(await ending(Promise.reject(errors[0]))).toMatchObject({ type: 'updates', message: /ECONNREFUSED/ })
  })
})

test('invalid options throw at once', async () => {
  const { api } = await start()
  const onInbound = (): void => {}
  expect(() => slackChannel({ api, events: 'socket', onInbound })).toThrow(/SocketModeClient/)
  expect(() => slackChannel({ api, events: 'http', onInbound })).toThrow(/signingSecret/)
  expect(() => slackChannel({ api, events: 'http', signingSecret: '', onInbound })).toThrow(/signingSecret/)
})

test('a client that retries by itself is reported', async () => {
  const errors: Error[] = []
  const onError = (error: Error): unknown => errors.push(error)
  slackChannel({ api: new WebClient('x'), events: 'http', signingSecret, onInbound: () => {}, onError })
  expect(errors).toMatchObject([{ type: 'client', message: /rejectRateLimitedCalls: true/ }])
})

test('sinkFor takes the place from the inbound', async () => {
  const { channel } = await receive({ events: 'own' })
  const sink = channel.sinkFor({ chat: { id: 'C1', thread: '1.1' }, replyTo: { id: '1.1' } })
  await sink.stop()
  expect(await sink.settled()).toEqual({ shown: 0, undelivered: [], doubtful: 0, calls: 0, rateLimited: 0 })
})
