import { afterEach, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { platformNames, startPlatform } from './platforms.ts'

let chats: Chats | undefined
afterEach(async () => await chats?.close())

test.each(platformNames)('on %s, a run says what it changed, and its button and /diff send it', async (name) => {
  const platform = await startPlatform(name)
  const agent = localAgent((run) => {
    const input = { filePath: 'src/a.txt', content: 'one\ntwo\n' }
    const state = { status: 'completed', input, output: '', metadata: { exists: false } } as const
    run.write({ type: 'tool', callID: 'call_1', tool: 'write', state })
    answer(run, 'Written.')
  })
  chats = await startChats({ platforms: [platform], connectTo: agent.connectTo })
  await chats.start()
  // Slack's fake shows the source of Markdown.
  const texts = (): readonly string[] => platform.texts('ann').map((text) => text.replaceAll('\\', ''))
  const count = (words: string): number => texts().filter((text) => text.includes(words)).length
  platform.say('ann', 'write')
  await expect.poll(() => count('1 file · +2 −0')).toBe(1)
  expect(platform.labels('ann')).toEqual(['Diff'])
  await platform.press('ann', 'Diff')
  await expect.poll(() => count('1 file · +2 −0: src/a.txt')).toBe(1)
  platform.say('ann', '/diff')
  await expect.poll(() => count('1 file · +2 −0: src/a.txt')).toBe(2)
  platform.say('ann', '/diff a.txt')
  await expect.poll(() => texts().join('\n')).toContain('+++ b/src/a.txt')
})
