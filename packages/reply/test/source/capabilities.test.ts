import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { type ReplyError, type ReplyEvent, textOf } from '../../src/index.ts'
import { type Capabilities, connectSource } from '../../src/source.ts'
import { busy, ended, idle, text, user } from '../make.ts'
import { createMemorySource } from './memory-source.ts'

async function stage(capabilities: Partial<Capabilities> = {}) {
  const memory = createMemorySource(capabilities)
  const clock = createHandClock()
  const errors: ReplyError[] = []
  const opencode = connectSource(memory.source, { clock, random: () => 0, onError: (error) => errors.push(error) })
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { memory, opencode, errors, rest, advance: (ms: number) => clock.advance(ms, rest) }
}

/** A whole run: the prompt, an answer, idle. */
const run = (sessionID: string, id: string, words: string): readonly ReplyEvent[] => [
  user(`${id}.u`, { sessionID }),
  busy(sessionID),
  ended(`${id}.a`, { sessionID }),
  text(`${id}.a`, words, { sessionID, status: 'sealed' }),
  idle(sessionID),
]

test('a source with nothing but its events gives a settled reply, and no session is read', async () => {
  const { memory, opencode, rest, errors } = await stage()
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  memory.send(...run('ses_1', 'm1', 'Hi.'))
  const reply = await stream.result
  expect([reply.outcome, textOf(reply), memory.prompts]).toEqual(['completed', 'Hi.', ['Hello.']])
  expect([memory.reads, errors]).toEqual([0, []])
  expect(await opencode.reply('ses_1')).toBe(reply)
  await opencode.close()
})

test('without state to read, an open reply is lost as soon as the connection breaks', async () => {
  const { memory, opencode, rest } = await stage()
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  memory.send(user('m1.u', { sessionID: 'ses_1' }), busy('ses_1'))
  await rest()
  memory.cut()
  expect(await stream.result).toMatchObject({ outcome: 'lost', lostReason: 'unreachable' })
  await opencode.close()
})

test('without state to read, idle ends a run with an unfinished step after the grace period', async () => {
  const { memory, opencode, rest, advance } = await stage()
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  memory.send(
    user('m1.u', { sessionID: 'ses_1' }),
    busy('ses_1'),
    ended('m1.a', { sessionID: 'ses_1', completedAt: undefined, finish: undefined }),
    text('m1.a', 'Half', { sessionID: 'ses_1' }),
    idle('ses_1'),
  )
  await rest()
  expect(stream.reply?.phase).not.toBe('settled')
  await advance(1000)
  expect(await stream.result).toMatchObject({ outcome: 'aborted' })
  expect(memory.reads).toBe(0)
  await opencode.close()
})

test('a busy session that takes no prompts gets them one after the other', async () => {
  const { memory, opencode, rest } = await stage()
  const one = opencode.prompt({ text: 'One.' })
  await rest()
  memory.send(user('m1.u', { sessionID: 'ses_1' }), busy('ses_1'))
  await rest()
  const [two, three] = ['Two.', 'Three.'].map((words) => opencode.prompt({ text: words, sessionID: 'ses_1' }))
  await rest()
  expect(memory.prompts).toEqual(['One.'])
  memory.send(ended('m1.a', { sessionID: 'ses_1' }), text('m1.a', 'First.', { sessionID: 'ses_1' }), idle('ses_1'))
  await rest()
  expect([memory.prompts, textOf(await one.result)]).toEqual([['One.', 'Two.'], 'First.'])
  memory.send(...run('ses_1', 'm2', 'Second.'))
  await rest()
  expect(memory.prompts).toEqual(['One.', 'Two.', 'Three.'])
  memory.send(...run('ses_1', 'm3', 'Third.'))
  expect(
    await Promise.all([two, three].map(async (stream) => textOf((await stream?.result) ?? (await one.result)))),
  ).toEqual(['Second.', 'Third.'])
  await opencode.close()
})

test.each([
  ['queue', { takesPromptsWhileBusy: true }],
  ['steer', { queuesPrompts: true }],
] as const)('a server that cannot %s a prompt gets none, and the reply says so', async (delivery, can) => {
  const { memory, opencode } = await stage(can)
  const reply = await opencode.prompt({ text: 'Hello.', delivery }).result
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: 'unsupported' } })
  expect(memory.prompts).toEqual([])
  await opencode.close()
})

test('a prompt that waits for its turn can be dropped', async () => {
  const { memory, opencode, rest } = await stage()
  const one = opencode.prompt({ text: 'One.' })
  await rest()
  memory.send(user('m1.u', { sessionID: 'ses_1' }), busy('ses_1'))
  await rest()
  const two = opencode.prompt({ text: 'Two.', sessionID: 'ses_1' })
  await rest()
  expect((await two.abort()).outcome).toBe('aborted')
  memory.send(ended('m1.a', { sessionID: 'ses_1' }), idle('ses_1'))
  await one.result
  await rest()
  expect(memory.prompts).toEqual(['One.'])
  await opencode.close()
})

test('what a source does not offer is refused as unsupported', async () => {
  const { opencode } = await stage()
  const { sessionID } = await opencode.prompt({ text: 'A note.', noReply: true }).result
  const calls = [
    opencode.agents(),
    opencode.commands(),
    opencode.fork('ses_1'),
    opencode.revert('ses_1', 'm1'),
    opencode.unrevert('ses_1'),
    opencode.compact('ses_1', { providerID: 'p', modelID: 'm' }),
  ]
  for (const call of calls) await expect(call).rejects.toMatchObject({ type: 'unsupported' })
  expect(sessionID).toBe('ses_1')
  await opencode.close()
})

test('a prompt that waits is not posted while the connection is lost', async () => {
  const { memory, opencode, rest, advance } = await stage()
  const one = opencode.prompt({ text: 'One.' })
  await rest()
  memory.send(user('m1.u', { sessionID: 'ses_1' }), busy('ses_1'))
  await rest()
  const two = opencode.prompt({ text: 'Two.', sessionID: 'ses_1' })
  await rest()
  memory.cut()
  expect((await one.result).outcome).toBe('lost')
  await rest()
  expect(memory.prompts).toEqual(['One.'])
  await advance(1000)
  expect(memory.prompts).toEqual(['One.', 'Two.'])
  memory.send(...run('ses_1', 'm2', 'Second.'))
  expect(textOf(await two.result)).toBe('Second.')
  await opencode.close()
})

test('a prompt without any event fails after half a minute', async () => {
  const { opencode, rest, advance } = await stage()
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  await advance(60_000)
  expect(await stream.result).toMatchObject({ outcome: 'failed', error: { name: 'NeverStarted' } })
  await opencode.close()
})

test('an abort counts only once the stream says that the run has ended', async () => {
  const { memory, opencode, rest, advance } = await stage()
  const stream = opencode.prompt({ text: 'Hello.' })
  await rest()
  memory.send(user('m1.u', { sessionID: 'ses_1' }), busy('ses_1'))
  await rest()
  const aborted = opencode.abort('ses_1')
  await advance(2000)
  expect(stream.reply?.phase).not.toBe('settled')
  memory.send(ended('m1.a', { sessionID: 'ses_1' }), idle('ses_1'))
  await rest()
  await advance(2000)
  await aborted
  expect(await stream.result).toMatchObject({ outcome: 'aborted' })
  await opencode.close()
})

test('a late answer about an earlier connection changes nothing', async () => {
  const answers: ((found: Capabilities) => void)[] = []
  const { createServerInfo } = await import('../../src/drive/server-info.ts')
  const info = createServerInfo({ learn: () => new Promise((resolve) => answers.push(resolve)) })
  const [old, fresh] = [info.learn(), info.learn()]
  const found = {
    canRead: true,
    takesPromptsWhileBusy: true,
    queuesPrompts: false,
    showsNotes: true,
    listsEverywhere: true,
  }
  answers[1]?.({ ...found, silenceMs: 2 })
  answers[0]?.({ ...found, silenceMs: 1 })
  expect([await old, (await fresh)?.silenceMs, info.current().silenceMs]).toEqual([undefined, 2, 2])
})
