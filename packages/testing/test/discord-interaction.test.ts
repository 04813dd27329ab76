import { createPublicKey, verify } from 'node:crypto'
import { createServer } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { FakeDiscord } from '../src/discord/index.ts'
import { channelId, start, token, until } from './guild.ts'

interface Packet {
  readonly op: number
  readonly t?: string
  readonly s?: number
  readonly d?: Readonly<Record<string, unknown>>
}

const sockets: WebSocket[] = []
const stops: (() => void)[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate()
  for (const stop of stops.splice(0)) stop()
})

/** A gateway's client without a library. */
async function connect(discord: FakeDiscord, first: object) {
  const headers = { authorization: `Bot ${token}` }
  const { url } = (await (await fetch(`${discord.url}/v10/gateway/bot`, { headers })).json()) as { url: string }
  const socket = new WebSocket(`${url}?v=10&encoding=json`)
  sockets.push(socket)
  const packets: Packet[] = []
  let closed: number | undefined
  socket.on('message', (bytes) => packets.push(JSON.parse(String(bytes))))
  socket.on('close', (code) => {
    closed = code
  })
  await until(() => packets.length === 1)
  socket.send(JSON.stringify(first))
  const named = (name: string) => packets.filter(({ t }) => t === name)
  return { socket, packets, named, closed: () => closed }
}

const identify = (intents = (1 << 9) | (1 << 15), as = token) => ({ op: 2, d: { token: as, intents } })
const button = { type: 1, components: [{ type: 2, style: 2, label: 'Yes', custom_id: 'y' }] }

describe('the gateway', () => {
  test('says hello, identifies the bot, acknowledges heartbeats and sends messages', async () => {
    const { discord } = await start()
    const { socket, packets, named } = await connect(discord, identify())
    await until(() => named('READY').length === 1)
    socket.send(JSON.stringify({ op: 1, d: 2 }))
    await until(() => packets.some(({ op }) => op === 11))
    discord.say(channelId, 'Hi')
    await until(() => named('MESSAGE_CREATE').length === 1)
    expect(packets[0]).toEqual({ op: 10, d: { heartbeat_interval: 41_250 } })
    expect(named('MESSAGE_CREATE')[0]?.d).toMatchObject({ content: 'Hi', channel_id: channelId })
    expect(discord.connected).toBe(1)
  })

  test('rejects a wrong token, and sends only the events that the intents ask for', async () => {
    const { discord } = await start()
    const wrong = await connect(discord, identify(0, 'wrong'))
    await until(() => wrong.closed() !== undefined)
    expect(wrong.closed()).toBe(4004)
    const deaf = await connect(discord, identify(0))
    await until(() => deaf.named('READY').length === 1)
    discord.say(channelId, 'Hi')
    discord.command(channelId, 'ask')
    await until(() => deaf.named('INTERACTION_CREATE').length === 1)
    expect(deaf.named('MESSAGE_CREATE')).toEqual([])
  })

  test('replays missed events to a resumed session, but not to an unknown one', async () => {
    const { discord } = await start()
    const first = await connect(discord, identify())
    await until(() => first.named('READY').length === 1)
    const { session_id } = first.named('READY')[0]?.d ?? {}
    discord.dropGateway()
    await until(() => discord.connected === 0)
    discord.say(channelId, 'Hi')
    const again = await connect(discord, { op: 6, d: { token, session_id, seq: 2 } })
    await until(() => again.named('RESUMED').length === 1)
    expect(again.packets.map(({ t }) => t)).toEqual([undefined, 'MESSAGE_CREATE', 'RESUMED'])
    const stranger = await connect(discord, { op: 6, d: { token, session_id: 'none', seq: 0 } })
    await until(() => stranger.packets.length === 2)
    expect(stranger.packets[1]).toEqual({ op: 9, d: false })
  })
})

describe('an interaction', () => {
  async function press() {
    const started = await start()
    const { discord, call, post } = started
    const pressed = discord.press(channelId, await post({ content: '?', components: [button] }), 'Yes')
    const secret = `interaction-token-${pressed.id}`
    const answer = (body: object) => call('POST', `/interactions/${pressed.id}/${secret}/callback`, body)
    const further = (body: object) => call('POST', `/webhooks/700000000000000001/${secret}`, body)
    return { ...started, pressed, answer, further }
  }

  test('is answered once, then takes follow-up messages', async () => {
    const { pressed, answer, further } = await press()
    expect(pressed.status).toBe('waiting')
    expect((await further({ content: 'too soon' })).body.code).toBe(10015)
    expect((await answer({ type: 4, data: { content: 'a' } })).status).toBe(204)
    expect((await answer({ type: 6 })).body.code).toBe(40060)
    expect((await further({ content: 'b' })).status).toBe(200)
    expect((await further({})).body.code).toBe(50006)
    expect([pressed.status, pressed.texts]).toEqual(['answered', ['a', 'b']])
  })

  test('fails after three seconds, then is unknown', async () => {
    const { pressed, answer, clock } = await press()
    await clock.advance(3000)
    expect((await pressed.settled).status).toBe('failed')
    expect((await answer({ type: 6 })).body.code).toBe(10062)
  })

  test('takes no follow-up message after 15 minutes', async () => {
    const { answer, further, clock } = await press()
    await answer({ type: 6 })
    await clock.advance(900_001)
    expect((await further({ content: 'a' })).body.code).toBe(10015)
  })

  const text = { type: 4, custom_id: 't', style: 1 }
  const label = (component: object) => ({ type: 18, label: 'L', component })
  const options = [
    { label: 'A', value: '1' },
    { label: 'B', value: '2' },
  ]

  test('opens a dialog that can be submitted', async () => {
    const { discord, pressed, answer } = await press()
    const components = [
      { type: 10, content: 'Read this.' },
      { ...label({ type: 3, custom_id: 's', options, max_values: 2 }), label: 'S' },
      { ...label({ ...text, required: false, max_length: 3 }), label: 'T' },
    ]
    expect((await answer({ type: 9, data: { custom_id: 'm', title: 'M', components } })).status).toBe(204)
    expect(pressed.modal).toMatchObject({ title: 'M', texts: ['Read this.'], fields: [{ label: 'S' }, { label: 'T' }] })
    expect(() => discord.submit(pressed, { X: 'x' })).toThrow(/no field "X"/)
    expect(() => discord.submit(pressed, {})).toThrow(/"S" must be filled in/)
    expect(() => discord.submit(pressed, { S: 'C' })).toThrow(/no option "C"/)
    const { named } = await connect(discord, identify())
    await until(() => named('READY').length === 1)
    discord.submit(pressed, { S: ['A', 'B'], T: 'long' })
    await until(() => named('INTERACTION_CREATE').length === 1)
    const filled = [
      { type: 18, component: { type: 3, custom_id: 's', values: ['1', '2'] } },
      { type: 18, component: { type: 4, custom_id: 't', value: 'lon' } },
    ]
    expect(named('INTERACTION_CREATE')[0]?.d).toMatchObject({ type: 5, data: { custom_id: 'm', components: filled } })
  })

  test.each<[string, readonly object[]]>([
    ['no components', []],
    ['six fields', Array.from({ length: 6 }, (_, at) => label({ ...text, custom_id: String(at) }))],
    ['one id twice', [label(text), label(text)]],
    ['a long label', [{ ...label(text), label: 'x'.repeat(46) }]],
    ['a long description', [{ ...label(text), description: 'x'.repeat(101) }]],
    ['a text that has a label of its own', [label({ ...text, label: 'x' })]],
    ['a field without a label', [text]],
    ['a button', [label({ type: 2, custom_id: 'b' })]],
    ['a select of nothing', [label({ type: 3, custom_id: 's', options: [] })]],
  ])('rejects a dialog with %s', async (_, components) => {
    const { pressed, answer } = await press()
    const { status, body } = await answer({ type: 9, data: { custom_id: 'm', title: 'M', components } })
    expect([status, body.code, pressed.modal]).toEqual([400, 50035, undefined])
  })
})

test('an endpoint is accepted only if it rejects forged signatures', async () => {
  const { discord } = await start()
  const key = createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(discord.publicKey, 'hex')]),
    ...{ format: 'der', type: 'spki' },
  })
  const open = async (isCareful: boolean): Promise<string> => {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const [signature = '', time = ''] = [
        String(request.headers['x-signature-ed25519']),
        String(request.headers['x-signature-timestamp']),
      ]
      const body = Buffer.concat(chunks)
      const isTrue = verify(null, Buffer.concat([Buffer.from(time), body]), key, Buffer.from(signature, 'hex'))
      const { type } = JSON.parse(body.toString())
      const answer = type === 1 ? { type: 1 } : { type: 4, data: { content: 'Hi' } }
      response.writeHead(isCareful && !isTrue ? 401 : 200).end(JSON.stringify(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    stops.push(() => server.close())
    const address = server.address()
    return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
  }
  await expect(discord.setEndpoint(await open(false))).rejects.toThrow(/a forged one with 200/)
  await discord.setEndpoint(await open(true))
  expect((await discord.command(channelId, 'ask').settled).texts).toEqual(['Hi'])
})
