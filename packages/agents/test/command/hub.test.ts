import { systemClock } from '@reply/core'
import { createSink, memoryStore } from '@reply/sink'
import { createFake, fakeRender } from '@reply/sink/testing'
import { expect, test } from 'vitest'
import { run } from '../../src/command.ts'

test('what a command writes is appended to a chat in few messages, and all of it at the end', async () => {
  const fake = createFake({ clock: systemClock, limits: { maxLength: 3500, editIntervalMs: 100 } })
  const sink = createSink({
    port: fake.port,
    render: fakeRender,
    chat: { id: 'chat' },
    store: memoryStore(),
    policy: { delivery: 'append', verbosity: 'quiet' },
  })
  const { stdout } = await run({
    command: 'sh',
    args: ['-c', 'for n in $(seq 1 40); do echo "line $n"; sleep 0.005; done; exit 1'],
    observe: () => [sink],
  })
  await sink.settled()
  const shown = fake.screen().map(({ text }) => text)
  expect(shown.length).toBeLessThan(6)
  expect(shown.join('\n')).toContain(stdout.trim().split('\n').at(-1))
  expect(shown.join('\n').match(/line \d+/g)).toEqual(stdout.trim().split('\n'))
  expect(shown.at(-1)).toContain('sh exited with code 1.')
})
