import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHandClock } from '@reply/testing'
import { type FakeNtfy, type NtfyOptions, startNtfy } from '@reply/testing/ntfy'
import { afterEach, expect, test } from 'vitest'
import { createNtfyClient } from '../src/client.ts'
import { clientOn, failureOf, type NtfyServer, notice, rules } from './rules.ts'

const token = 'tk_0123456789abcdefghijklmnopqrs'
const topic = 'ann-9Wk3hQxTz7'
let fake: FakeNtfy | undefined
afterEach(async () => await fake?.close())

async function started(options: NtfyOptions = {}): Promise<NtfyServer & { readonly ntfy: FakeNtfy }> {
  const ntfy = await startNtfy({ token, ...options })
  fake = ntfy
  const shown = async () =>
    ntfy.screen(topic).map(({ title, message, priority, tags, click }) => ({ title, message, priority, tags, click }))
  return { ...{ url: ntfy.url, token, topic, ntfy }, shown }
}

test.each(Object.entries(rules))('%s', async (_, rule) => await rule(await started()))

test('a notice has no action and nothing that a phone loads, and its texts are in the body alone', async () => {
  const server = await started()
  await clientOn(server).send({ ...notice, title: 'Secret title', text: 'Secret text', link: 'https://t.me/c/1/2' })
  const [call] = server.ntfy.calls
  expect(Object.keys(call?.payload ?? {}).toSorted()).toEqual([
    ...['click', 'message', 'priority', 'sequence_id', 'tags', 'title', 'topic'],
  ])
  expect(JSON.stringify(call?.headers)).not.toMatch(/Secret|ann-/)
})

test.each(['javascript:alert(1)', 'http://10.0.0.1/', 'intent://x', 'no link'])(
  'the link %s is left out',
  async (link) => {
    const server = await started()
    await clientOn(server).send({ ...notice, link })
    expect(server.ntfy.screen(topic)[0]?.click).toBeUndefined()
  },
)

test.each([
  [true, 1],
  [false, 2],
])('a repeated notice replaces the first if the server knows sequences (%s)', async (knowsSequences, shown) => {
  const server = await started({ knowsSequences, faults: [{ type: 'accept-then-drop' }] })
  expect((await failureOf(clientOn(server).send(notice)))[0]).toBe('ambiguous')
  await clientOn(server).send(notice)
  expect(server.ntfy.screen(topic)).toHaveLength(shown)
})

test.each([
  ['without a time', { type: 'rate-limited' }, 5000],
  ['with a time of a proxy', { type: 'rate-limited', retryAfterS: 30 }, 30_000],
  ['for the day', { type: 'quota' }, 600_000],
] as const)('a 429 %s says how long to wait', async (_, fault, retryAfterMs) => {
  const server = await started({ faults: [fault] })
  await expect(clientOn(server).send(notice)).rejects.toMatchObject({ type: 'rate-limited', retryAfterMs })
  expect(server.ntfy.notifications(topic)).toBe(0)
})

test('a server takes 60 notices at once, and one more each 5 s', async () => {
  const clock = createHandClock()
  const server = await started({ clock })
  for (let nth = 0; nth < 60; nth++) await clientOn(server).send(notice)
  expect((await failureOf(clientOn(server).send(notice)))[0]).toBe('rate-limited')
  await clock.advance(5000)
  await clientOn(server).send(notice)
  expect(server.ntfy.notifications(topic)).toBe(61)
})

test.each([
  ['ambiguous', { type: 'status', code: 502 }],
  ['ambiguous', { type: 'status', code: 503, isTaken: true }],
  ['ambiguous', { type: 'refuse' }],
  ['refused', { type: 'redirect', to: 'https://elsewhere.example/' }],
  ['ambiguous', { type: 'status', code: 200 }],
] as const)('is %s after %o', async (type, fault) => {
  const server = await started({ faults: [fault] })
  expect((await failureOf(clientOn(server).send(notice)))[0]).toBe(type)
  expect(server.ntfy.calls).toHaveLength(1)
})

test('a silent server is given up after 30 s, and a stop ends the call at once', async () => {
  const clock = createHandClock()
  const server = await started({ faults: [{ type: 'stall', times: 2 }] })
  const late = failureOf(clientOn(server, { clock }).send(notice))
  while (server.ntfy.calls.length < 1) await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(30_000)
  expect((await late)[0]).toBe('ambiguous')
  const stop = new AbortController()
  const stopped = failureOf(clientOn(server, { clock }).send(notice, stop.signal))
  while (server.ntfy.calls.length < 2) await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  expect((await stopped)[0]).toBe('ambiguous')
})

test('an address where nothing listens is unreachable, and no error has the topic or the token', async () => {
  const { url } = await started()
  await fake?.close()
  const [type, message] = await failureOf(clientOn({ url, token, topic, shown: async () => [] }).send(notice))
  expect(type).toBe('unreachable')
  expect(message).not.toMatch(/ann-|tk_/)
})

test('a server that answers something else is not an ntfy server', async () => {
  const other = createServer((_, response) => response.end('<html>hello</html>'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const client = createNtfyClient({ server: `http://127.0.0.1:${port}/`, topic })
  expect(await failureOf(client.check())).toEqual(['refused', expect.stringMatching(/it is not an ntfy server\.$/)])
  other.close()
})

test.each([
  ['', 'It is blank.'],
  ['a b', 'It is not 1 to 64 letters, digits, "-" and "_".'],
  ['x'.repeat(65), 'It is not 1 to 64 letters, digits, "-" and "_".'],
])('the topic "%s" can’t be used', (unusable, why) => {
  expect(() => createNtfyClient({ server: 'https://ntfy.sh', topic: unusable })).toThrow(
    `The topic can't be used. ${why}`,
  )
})

test('a token with a line break can’t be used', () => {
  expect(() => createNtfyClient({ server: 'https://ntfy.sh', topic, token: 'tk_a\r\nX-Actions: x' })).toThrow(
    "The token can't be used. It is not one word of printable ASCII.",
  )
})
