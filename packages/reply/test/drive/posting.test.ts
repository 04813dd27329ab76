import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import type { PostedPrompt } from '../../src/index.ts'
import { type Capabilities, connectSource } from '../../src/source.ts'
import { createMemorySource } from '../source/memory-source.ts'
import { setStage } from './stage.ts'

async function stage(capabilities: Partial<Capabilities> = {}) {
  const memory = createMemorySource(capabilities)
  const clock = createHandClock()
  const opencode = connectSource(memory.source, { clock })
  await opencode.ready
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { memory, opencode, clock, rest }
}

test('a prompt is posted when its sender has written it down', async () => {
  const { memory, opencode, clock, rest } = await stage({ nextMessageID: () => 'msg_1' })
  const posted: PostedPrompt[] = []
  let finish = (): void => {}
  opencode.prompt(
    { text: 'Hello.' },
    {
      onPosting: async (given) => {
        posted.push(given)
        await new Promise<void>((resolve) => {
          finish = resolve
        })
      },
    },
  )
  await rest()
  const at = clock.now()
  expect([posted, memory.prompts]).toEqual([[{ sessionID: 'ses_1', messageID: 'msg_1', text: 'Hello.', at }], []])
  finish()
  await rest()
  expect(memory.prompts).toEqual(['Hello.'])
  await opencode.close()
})

test('a prompt that cannot be written down is not posted', async () => {
  const { memory, opencode } = await stage()
  const onPosting = (): never => {
    throw new Error('The disk is full.')
  }
  const reply = await opencode.prompt({ text: 'Hello.' }, { onPosting }).result
  expect([reply.outcome, reply.error?.message, memory.prompts]).toEqual(['failed', 'The disk is full.', []])
  await opencode.close()
})

test('a prompt that is stopped while it is written down is not posted', async () => {
  const { memory, opencode, rest } = await stage()
  let finish = (): void => {}
  const onPosting = async (): Promise<void> =>
    await new Promise((resolve) => {
      finish = resolve
    })
  const stream = opencode.prompt({ text: 'Hello.' }, { onPosting })
  await rest()
  const reply = await stream.abort()
  finish()
  await rest()
  expect([reply.outcome, memory.prompts]).toEqual(['aborted', []])
  await opencode.close()
})

test('a prompt that is stopped before it is written down is not written down', async () => {
  let isCounting = false
  let finish: (count: number) => void = () => {}
  const countPrompts = async (): Promise<number> => {
    isCounting = true
    return await new Promise<number>((resolve) => {
      finish = resolve
    })
  }
  const memory = createMemorySource({ canRead: true, keepsPromptIDs: false }, { countPrompts })
  const opencode = connectSource(memory.source, { clock: createHandClock() })
  const posted: PostedPrompt[] = []
  const stream = opencode.prompt({ text: 'Hello.' }, { onPosting: (given) => void posted.push(given) })
  while (!isCounting) await new Promise<void>((resolve) => setImmediate(resolve))
  const reply = await stream.abort()
  finish(0)
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  expect([reply.outcome, posted, memory.prompts]).toEqual(['aborted', [], []])
  await opencode.close()
})

test.each(['init', '/init'])('the prompt of the command %j is written with one slash', async (command) => {
  const { opencode } = await stage()
  const reply = await opencode.command({ command, arguments: 'all' }, { signal: AbortSignal.abort() }).result
  expect(reply.prompt?.text).toBe('/init all')
  await opencode.close()
})

test('a command has no text to be found by, and a note says that it is one', async () => {
  const { opencode, rest } = await stage()
  const posted: PostedPrompt[] = []
  const onPosting = (given: PostedPrompt): void => void posted.push(given)
  opencode.command({ command: 'init' }, { onPosting })
  opencode.prompt({ text: 'Note.', noReply: true }, { onPosting })
  await rest()
  expect(posted.map(({ text, noReply }) => [text, noReply])).toEqual([
    [undefined, undefined],
    ['Note.', true],
  ])
  await opencode.close()
})

test('the prompt is looked for after the newest message of its session', async () => {
  const { server, opencode, rest } = setStage({ scenario: 'plain', tells: '1.18.3' })
  server.publish(server.length)
  await opencode.ready
  const [session] = await opencode.sessions()
  const sessionID = session?.sessionID ?? ''
  const newest = (await opencode.reply(sessionID))?.messages.at(-1)?.id
  const posted: PostedPrompt[] = []
  opencode.prompt({ text: 'More.', sessionID }, { onPosting: (given) => void posted.push(given) })
  await rest()
  expect(posted).toMatchObject([{ sessionID, after: newest, text: 'More.' }])
  expect([newest === undefined, posted[0]?.messageID]).toEqual([false, undefined])
  await opencode.close()
})

test('a source that shows no sessions says unknown', async () => {
  const { opencode } = await stage()
  expect(await opencode.resume({ sessionID: 'ses_1', messageID: 'msg_1', at: 0 })).toEqual({ type: 'unknown' })
  await opencode.close()
})
