import type { PermissionAsk, Reply } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createPacer } from '../src/deliver/pace.ts'
import { createSink, type Sink } from '../src/sink.ts'
import { createFake, fakeRender } from '../src/testing/fake.ts'
import type { FakeFault } from '../src/testing/fake-options.ts'
import { permits, replyWith } from './make.ts'
import { rest } from './scene.ts'
import { beginning } from './timeline.ts'

/** Two replies in one chat without buttons. */
function scene({ faults = [], threads = [] }: { faults?: readonly FakeFault[]; threads?: readonly string[] } = {}) {
  const clock = createHandClock(beginning)
  const fake = createFake({ clock, faults, limits: { buttons: undefined } })
  const pacer = createPacer({ clock })
  const [first, second] = [0, 1].map((at) => {
    const thread = threads[at]
    const chat = { id: 'chat', kind: 'private', ...(thread !== undefined && { thread }) } as const
    return createSink({ port: fake.port, render: fakeRender, chat, pacer, clock, policy: { verbosity: 'quiet' } })
  })
  if (!first || !second) throw new Error('There are two.')
  const pass = async (): Promise<void> => await clock.advance(20_000, rest)
  const shown = (): readonly string[] =>
    ['ls', 'make', 'pwd'].filter((word) => fake.screen().some(({ text }) => text.includes(`\n${word}\n`)))
  return { first, second, pass, shown }
}

function permission(command: string, more: Partial<PermissionAsk> = {}): PermissionAsk {
  const call = { tool: 'bash', input: { command } }
  return permits({ requestID: `per_${command}`, title: `bash: ${command}`, patterns: [command], call, ...more })
}

function show(sink: Sink, sessionID: string, ...asks: Reply['asks']): void {
  const isBlocked = asks.some(({ status }) => status === 'pending')
  const reply = { ...replyWith([], { phase: isBlocked ? 'blocked' : 'working', asks }), sessionID }
  sink.replyAmended?.({ type: 'replyAmended', reply })
}

test('without buttons a chat shows one permission at a time, whichever reply asks', async () => {
  const { first, second, pass, shown } = scene()
  show(first, 'ses_1', permission('ls'))
  await pass()
  show(second, 'ses_2', permission('make'), permission('pwd'))
  await pass()
  expect(shown()).toEqual(['ls'])
  show(first, 'ses_1', permission('ls', { status: 'answered', reply: 'once' }))
  await pass()
  expect(shown()).toEqual(['ls', 'make'])
  show(second, 'ses_2', permission('make', { status: 'rejected' }), permission('pwd'))
  await pass()
  expect(shown()).toEqual(['ls', 'make', 'pwd'])
})

test('the next one is shown once the first reply disappears', async () => {
  const { first, second, pass, shown } = scene()
  show(first, 'ses_1', permission('ls'))
  await pass()
  show(second, 'ses_2', permission('make'))
  await first.stop()
  await pass()
  expect(shown()).toEqual(['ls', 'make'])
})

test('a refused permission holds back no other, of its own reply or of another', async () => {
  const { first, second, pass, shown } = scene({ faults: [{ call: 1, type: 'refused' }] })
  show(first, 'ses_1', permission('ls'), permission('pwd'))
  await pass()
  expect(shown()).toEqual(['pwd'])
  show(first, 'ses_1', permission('ls'), permission('pwd', { status: 'answered', reply: 'once' }))
  show(second, 'ses_2', permission('make'))
  await pass()
  expect(shown()).toEqual(['make', 'pwd'])
})

test('each thread shows one', async () => {
  const { first, second, pass, shown } = scene({ threads: ['1', '2'] })
  show(first, 'ses_1', permission('ls'))
  show(second, 'ses_2', permission('make'))
  await pass()
  expect(shown()).toEqual(['ls', 'make'])
})
