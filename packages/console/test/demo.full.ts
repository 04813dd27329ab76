import { expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import { fakeProcess } from './fixture/io.ts'

test('the demo runs without a person: it answers a question with the first option, and stops its server', async () => {
  const fake = fakeProcess()
  expect(await main(['demo'], fake.io)).toBe(0)
  const out = fake.stdout()
  expect(out).toContain('› The total of the cart is wrong')
  expect(out).toContain('? Discount\n')
  expect(out).toContain('→ Before tax\n')
  expect(out).toContain('[x] Fix the total\n')
  expect(out).toContain('✓ completed · ')
  expect(out).toContain('✗ bash npm test · exit 1')
  expect(out).toContain('✓ bash npm test ')
  expect(out.trimEnd().split('\n').slice(-3)).toEqual([
    '  npx reply demo --url http://127.0.0.1:4096',
    '  npx reply watch --url http://127.0.0.1:4096',
    '  npx reply prompt "Why does the build fail?"',
  ])
  expect(fake.stderr()).toBe('')
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(out) ?? []
  await expect(fetch(`${url}/global/health`)).rejects.toThrow()
  expect(fake.listening()).toBe(0)
})

test('a demo that is interrupted while it starts stops its server, too', async () => {
  const fake = fakeProcess()
  const done = main(['demo'], fake.io)
  await expect.poll(() => fake.stdout()).toContain('Starting')
  fake.signal('SIGINT')
  expect(await done).toBe(130)
})
