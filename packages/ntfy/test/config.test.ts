import { startNtfy } from '@reply/testing/ntfy'
import { expect, test } from 'vitest'
import { noticeChannel } from '../src/bridge.ts'

const secrets: Readonly<Record<string, string>> = { TOPIC: 'ann-9Wk3hQxTz7', TOKEN: 'tk_0123456789abcdefghijklmnopqrs' }
const secret = (source: { env: string } | { file: string }): string =>
  'env' in source ? (secrets[source.env] ?? '') : ''

test.each([
  [{ topic: { env: 'TOPIC' } }, true],
  [{ topic: { env: 'TOPIC' }, server: 'https://ntfy.example', token: { env: 'TOKEN' }, on: ['ask'], awayMs: 0 }, true],
  [{ topic: 'shop', server: 'https://ntfy.example', token: { env: 'TOKEN' }, content: 'summary' }, true],
  [{ topic: 'shop' }, false],
  [{ topic: 'shop', server: 'https://ntfy.example' }, false],
  [{ topic: 'a b', server: 'https://ntfy.example', token: { env: 'TOKEN' } }, false],
  [{}, false],
  [{ topic: { env: 'TOPIC' }, token: 'tk_1' }, false],
  [{ topic: { env: 'TOPIC' }, server: 'https://ann:pw@ntfy.example' }, false],
  [{ topic: { env: 'TOPIC' }, server: 'ftp://ntfy.example' }, false],
  [{ topic: { env: 'TOPIC' }, content: 'all' }, false],
  [{ topic: { env: 'TOPIC' }, actions: [] }, false],
])('the entry %o fits: %s', (entry, fits) => {
  expect(noticeChannel.schema.safeParse({ type: 'ntfy', ...entry }).success).toBe(fits)
})

test('an entry sends to its server with the topic and the token of the environment', async () => {
  const ntfy = await startNtfy({ token: secrets.TOKEN ?? '' })
  const config = noticeChannel.schema.parse({
    ...{ type: 'ntfy', server: ntfy.url, topic: { env: 'TOPIC' }, token: { env: 'TOKEN' } },
  })
  expect(await noticeChannel.check(config, { secret })).toEqual({ account: `a topic on ${new URL(ntfy.url).host}` })
  const clock = { now: Date.now, after: () => () => {} }
  const { send } = await noticeChannel.create(config, { secret, clock })
  await send({ id: 'a', kind: 'final', title: 'Done', text: '5s' })
  expect(ntfy.screen('ann-9Wk3hQxTz7').map(({ title, message }) => [title, message])).toEqual([['Done', '5s']])
  await ntfy.close()
})
