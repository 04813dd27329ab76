import { type Inbound, memoryStore, type WebhookRequest } from '@reply/sink'
import type { FakeDiscord } from '@reply/testing/discord'
import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../testing/test/listen.ts'
import { type DiscordChannelOptions, discordChannel } from '../src/index.ts'
import { channelId, person, type Started, start, until } from './bot.ts'

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function open(
  onInbound: (inbound: Inbound) => unknown = () => {},
  given: Partial<DiscordChannelOptions> = {},
): Promise<Started & { received: Inbound[]; channel: ReturnType<typeof discordChannel>; url: string }> {
  const started = await start()
  const { rest, clock, discord } = started
  const received: Inbound[] = []
  const channel = discordChannel({
    rest,
    clock,
    updates: 'http',
    publicKey: discord.publicKey,
    commands: ['ask'],
    ...given,
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
  })
  const hook = await listen(channel.listener)
  stops.push(hook.stop)
  return { ...started, received, channel, url: `${hook.url}/` }
}

const components = [{ type: 1, components: [{ type: 2, style: 2, label: 'Yes', custom_id: 'reply:tok' }] }]

const pressed = (id: string, token = 'reply:tok'): string =>
  JSON.stringify({
    id,
    token: 'interaction-token',
    application_id: '2',
    type: 3,
    channel_id: channelId,
    ...{
      user: { id: person.id, username: 'ada' },
      message: { id: '9' },
      data: { custom_id: token, component_type: 2 },
    },
  })

function signed(discord: FakeDiscord, body: string, more: Partial<WebhookRequest> = {}): WebhookRequest {
  return { method: 'POST', headers: discord.signed(body), body: new TextEncoder().encode(body), ...more }
}

describe("Discord's own requests over HTTP are passed on", () => {
  test('after its check that the endpoint answers and refuses forgeries', async () => {
    const { discord, rest, received, url } = await open(
      (inbound) => inbound.type === 'press' && inbound.answer('Taken.'),
    )
    await discord.setEndpoint(url)
    expect(received).toEqual([])
    await rest.post(`/channels/${channelId}/messages`, { body: { content: '?', components } })
    const [message] = discord.screen(channelId)
    const press = await discord.press(channelId, message?.messageId ?? '', 'Yes', { from: person }).settled
    expect([press.texts, press.reason]).toEqual([['Taken.'], undefined])
    expect(received).toMatchObject([{ type: 'press', token: 'tok', actor: { id: person.id, name: 'Ada' } }])
    // The answer was the response to Discord's request.
    expect(discord.count('callback')).toBe(0)
  })

  test('a command is a text, and is acknowledged in time if the host takes long', async () => {
    const { discord, received, url, clock } = await open(async (inbound) => {
      if (inbound.type !== 'text') return
      await new Promise<void>((resolve) => void clock.after(4000, resolve))
      await inbound.answer('Done.')
    })
    await discord.setEndpoint(url)
    const asked = discord.command(channelId, 'ask', ['Why', 'so?'], { from: person })
    await until(() => received.length === 1)
    await clock.advance(2000)
    expect((await asked.settled).texts).toEqual(['✅'])
    await clock.advance(2000)
    expect((await asked.received(2)).texts).toEqual(['✅', 'Done.'])
    expect(received).toMatchObject([{ type: 'text', text: '/ask Why so?', isCommand: true }])
  })
})

test('an interaction that comes again after a restart gets an empty response, where a store is given', async () => {
  const store = memoryStore()
  const types: unknown[] = []
  let count = 0
  for (const id of ['100000000000000091', '100000000000000091', '100000000000000092']) {
    const { channel, discord, received } = await open(
      (inbound) => inbound.type === 'press' && inbound.answer('Taken.'),
      {
        store,
      },
    )
    const { body } = await channel.webhook(signed(discord, pressed(id)))
    types.push(JSON.parse(body?.text ?? '').type)
    count += received.length
  }
  expect([types, count]).toEqual([[4, 6, 4], 2])
})

test("the host's answer in time is the response, even if handleMs is over", async () => {
  const { channel, discord, received, clock } = await open(
    async (inbound) => {
      await new Promise<void>((resolve) => void clock.after(1500, resolve))
      if (inbound.type === 'press') await inbound.answer('Taken.')
    },
    { handleMs: 1000 },
  )
  const answered = channel.webhook(signed(discord, pressed('1')))
  await until(() => received.length === 1)
  await clock.advance(1500)
  expect((await answered).body?.text).toContain('Taken.')
})

test('stop waits for events received over HTTP, too', async () => {
  let release = (): void => {}
  const { channel, discord, received } = await open(
    () =>
      new Promise<void>((resolve) => {
        release = resolve
      }),
  )
  void channel.webhook(signed(discord, pressed('1')))
  await until(() => received.length === 1)
  let isStopped = false
  const stopping = channel.stop().then(() => {
    isStopped = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isStopped).toBe(false)
  release()
  await stopping
})

test('a replay is accepted and does nothing', async () => {
  const { channel, discord, received } = await open()
  const request = signed(discord, pressed('77'))
  const answers = [await channel.webhook(request), await channel.webhook(request)]
  const body = { type: 'application/json', text: '{"type":6}' }
  expect([answers, received.length]).toEqual([
    [
      { status: 200, body },
      { status: 200, body },
    ],
    1,
  ])
})

describe('refused', () => {
  test.each<[string, (discord: FakeDiscord) => WebhookRequest, number]>([
    ['no signature', (discord) => signed(discord, pressed('1'), { headers: {} }), 401],
    [
      'a signature of another body',
      (discord) => signed(discord, pressed('1'), { headers: discord.signed(pressed('2')) }),
      401,
    ],
    [
      'a forged signature',
      (discord) => {
        const headers = { ...discord.signed(pressed('1')), 'x-signature-ed25519': '0'.repeat(128) }
        return signed(discord, pressed('1'), { headers })
      },
      401,
    ],
    [
      'another time',
      (discord) => {
        const headers = discord.signed(pressed('1'))
        const timestamp = String(Number(headers['x-signature-timestamp']) + 1)
        return signed(discord, pressed('1'), { headers: { ...headers, 'x-signature-timestamp': timestamp } })
      },
      401,
    ],
    [
      'two signatures',
      (discord) => {
        const headers = discord.signed(pressed('1'))
        const both = [headers['x-signature-ed25519'] ?? '', 'b']
        return signed(discord, pressed('1'), { headers: { ...headers, 'x-signature-ed25519': both } })
      },
      401,
    ],
    [
      'an old one, sent again',
      (discord) => signed(discord, pressed('1'), { headers: discord.signed(pressed('1'), Date.now() - 301_000) }),
      401,
    ],
    [
      'one of the future',
      (discord) => signed(discord, pressed('1'), { headers: discord.signed(pressed('1'), Date.now() + 302_000) }),
      401,
    ],
    ['another method', (discord) => signed(discord, '', { method: 'GET' }), 405],
    ['no JSON', (discord) => signed(discord, '{'), 400],
    ['no interaction', (discord) => signed(discord, '{"type":3}'), 400],
    ['too many bytes', (discord) => signed(discord, pressed('1', `reply:${'x'.repeat(2000)}`)), 413],
  ])('%s', async (_, request, status) => {
    const { channel, discord, received } = await open(() => {}, { maxBytes: 1000 })
    expect(await channel.webhook(request(discord))).toEqual({ status })
    expect(received).toEqual([])
  })

  test("a button of the host's own, unless the host answers it", async () => {
    const silent = await open(() => {})
    expect(await silent.channel.webhook(signed(silent.discord, pressed('1', 'theirs')))).toEqual({ status: 400 })
    expect(silent.received).toMatchObject([{ type: 'press', token: 'theirs', isForeign: true }])
    const speaking = await open((inbound) => inbound.type === 'press' && inbound.answer('Next page.'))
    const { body, status } = await speaking.channel.webhook(signed(speaking.discord, pressed('1', 'theirs')))
    expect([status, JSON.parse(body?.text ?? '')]).toMatchObject([200, { type: 4, data: { content: 'Next page.' } }])
  })

  test('over HTTP too, before the body is read', async () => {
    const { url, discord, received } = await open(() => {}, { maxBytes: 1000 })
    const send = async (init: RequestInit): Promise<number> => (await fetch(url, init)).status
    const long = 'x'.repeat(100_000)
    expect(await send({ method: 'GET' })).toBe(405)
    expect(await send({ method: 'POST', body: pressed('1') })).toBe(401)
    expect(await send({ method: 'POST', headers: discord.signed(long), body: long })).toBe(413)
    expect(await send({ method: 'POST', headers: discord.signed(pressed('1')), body: pressed('1') })).toBe(200)
    expect(received).toHaveLength(1)
  })
})

test('a webhook needs a key', async () => {
  const { rest } = await start()
  const own = discordChannel({ rest, updates: 'own', onInbound: () => {} })
  const request = { method: 'POST', headers: {}, body: new Uint8Array() }
  await expect(own.webhook(request)).rejects.toMatchObject({ type: 'invalid' })
})
