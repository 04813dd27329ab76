import { describe, expect, test } from 'vitest'
import { channelId, start } from './guild.ts'

const messages = `/channels/${channelId}/messages`
const other = '/channels/100000000000000002/messages'

test('each response reports the bucket, which refills after its period', async () => {
  const { call, clock } = await start()
  const told = async (path = messages) => {
    const { status, headers } = await call('POST', path, { content: 'a' })
    return [status, headers.get('x-ratelimit-remaining'), headers.get('x-ratelimit-reset-after')]
  }
  expect(await told()).toEqual([200, '4', '5.000'])
  await clock.advance(1500)
  for (const left of ['3', '2', '1', '0']) expect(await told()).toEqual([200, left, '3.500'])
  expect(await told()).toEqual([429, '0', '3.500'])
  expect(await told(other)).toEqual([200, '4', '5.000'])
  await clock.advance(3500)
  expect(await told()).toEqual([200, '4', '5.000'])
})

test('posts and edits have separate buckets', async () => {
  const { call, post } = await start()
  const id = await post({ content: 'a' })
  for (let count = 0; count < 4; count++) await post({ content: 'a' })
  expect((await call('PATCH', `${messages}/${id}`, { content: 'b' })).status).toBe(200)
  expect((await call('POST', messages, { content: 'b' })).status).toBe(429)
})

test('the global limit is 50 calls a second', async () => {
  const { call, clock } = await start()
  const path = (count: number) => `/channels/${100000000000000100n + BigInt(count)}/messages`
  const send = async (count: number) => await call('POST', path(count), { content: 'a' })
  for (let count = 0; count < 50; count++) expect((await send(count)).status).toBe(200)
  const { status, body, headers } = await send(50)
  expect([status, body.global, headers.get('x-ratelimit-scope'), headers.get('retry-after')]).toEqual([
    ...[429, true, 'global', '1'],
  ])
  await clock.advance(1000)
  expect((await send(50)).status).toBe(200)
})

describe('a fault', () => {
  test.each([
    ['user', null, 0, [429, 200]],
    ['shared', null, 40062, [429, 200]],
    ['global', 'true', 0, [429, 429]],
  ] as const)('of scope %s blocks that scope until it expires', async (scope, isGlobal, code, statuses) => {
    const faults = [{ type: 'rate-limited', retryAfterS: 2.5, scope }] as const
    const { discord, call, clock } = await start({ faults })
    const { status, body, headers } = await call('POST', messages, { content: 'a' })
    expect([status, body.retry_after, headers.get('retry-after')]).toEqual([429, 2.5, '3'])
    expect([headers.get('x-ratelimit-scope'), headers.get('x-ratelimit-global')]).toEqual([scope, isGlobal])
    expect(body.code ?? 0).toBe(code)
    const again = [await call('POST', messages, { content: 'a' }), await call('POST', other, { content: 'a' })]
    expect(again.map((one) => one.status)).toEqual(statuses)
    expect(discord.invalidCalls()).toBe(scope === 'global' ? 3 : scope === 'user' ? 2 : 1)
    await clock.advance(2500)
    expect((await call('POST', messages, { content: 'a' })).status).toBe(200)
  })

  test('hits the call for the bot itself if it names that call', async () => {
    const { discord, call } = await start({ faults: [{ type: 'status', status: 500, call: 'me' }] })
    expect((await call('GET', '/users/@me')).status).toBe(500)
    expect((await call('GET', '/users/@me')).body).toMatchObject({ id: '700000000000000001', bot: true })
    expect(discord.count('me')).toBe(2)
  })

  test('applies to the calls that it matches, the given number of times', async () => {
    const { discord, call, post } = await start()
    discord.inject({ type: 'status', status: 500, call: 'edit', nth: 2, times: 2 })
    const id = await post({ content: 'a' })
    const edit = async () => (await call('PATCH', `${messages}/${id}`, { content: 'b' })).status
    expect([await edit(), await edit(), await edit(), await edit()]).toEqual([200, 500, 500, 200])
    expect(discord.calls.map(({ fault }) => fault)).toEqual([undefined, undefined, 'status', 'status', undefined])
  })

  test.each([
    ['refuse', 0],
    ['accept-then-drop', 1],
  ] as const)('%s breaks the connection and leaves %i message', async (type, count) => {
    const { discord, call } = await start({ faults: [{ type }] })
    await expect(call('POST', messages, { content: 'a' })).rejects.toThrow()
    expect(discord.screen(channelId)).toHaveLength(count)
  })

  test.each([
    [true, 1],
    [false, 0],
  ])('with a gateway timeout and isTaken: %j posts the message or does not', async (isTaken, count) => {
    const { discord, call } = await start({ faults: [{ type: 'status', status: 504, isTaken }] })
    expect((await call('POST', messages, { content: 'a' })).status).toBe(504)
    expect(discord.screen(channelId)).toHaveLength(count)
  })
})

test('the allowances of a bucket can be set', async () => {
  const { call } = await start({ allowances: { post: { count: 1, perMs: 10_000 } } })
  const statuses = [await call('POST', messages, { content: 'a' }), await call('POST', messages, { content: 'a' })]
  expect(statuses.map(({ status }) => status)).toEqual([200, 429])
})
