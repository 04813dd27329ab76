import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { callTool, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { startPlatform } from './platforms.ts'
import { type BridgeStage, startStage } from './stage.ts'

const call = (name: string, input: Record<string, unknown>) => ({
  steps: [[callTool(name, input)], [sayText('It is done.')]],
})
const touch = (file: string) => call('bash', { command: `touch ${file}`, description: 'A command' })
const write = (filePath: string) => call('write', { filePath, content: 'x' })

const group = -5
let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({
    // A server that was installed and started, and nothing else.
    permission: {},
    scripts: {
      one: write('one.txt'),
      two: touch('two.txt'),
      three: write('three.txt'),
      four: touch('four.txt'),
      five: touch('five.txt'),
      // OpenCode asks for no command here, as it finds none.
      six: call('bash', { command: "[[ 'a[$(touch six.txt)0]' -eq 0 ]]", description: 'A test' }),
      plain: { steps: [[sayText('Hello.')]] },
    },
    chats: [
      { id: 1, type: 'private', title: 'Ann' },
      { id: 2, type: 'private', title: 'Bob' },
      { id: group, type: 'supergroup', title: 'Shop' },
    ],
  })
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const ran = (name: string): boolean => existsSync(join(stage.server.directory, name))
const says = (chat: number, words: string): Promise<unknown> =>
  stage.seen(chat, (screen) => screen.some(({ from, text: said }) => from === 'bot' && said.includes(words)))
const inGroup = (id: number, words: string): number =>
  stage.telegram.say(group, `@fake_bot ${words}`, { from: { id, name: id === 1 ? 'Ann' : 'Bob' } })

test('what a person without `approve` prompts asks before it acts, in a chat where no one can allow it', async () => {
  await stage.start()
  stage.telegram.say(2, '[scenario:one]')
  await says(2, 'No one in this chat can allow that')
  stage.telegram.say(2, '/stop')
  await says(2, 'Stopped.')
  expect(ran('one.txt')).toBe(false)
})

test('a person with `approve` allows it in a group, also in a session that began unguarded', async () => {
  await stage.start()
  // Ann may use a shell: the server's own rules count.
  inGroup(1, '[scenario:two]')
  await says(group, 'It is done.')
  expect(ran('two.txt')).toBe(true)
  inGroup(2, '[scenario:three]')
  const { messageId } = await stage.seen(group, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once')),
  )
  const bobs = stage.telegram.press(group, messageId, 'Allow once', { from: { id: 2, name: 'Bob' } })
  expect((await bobs.settled).text).toBe(
    'You can’t answer this: it requires the right `approve`. The bridge’s operator can add it to your rights.',
  )
  expect(ran('three.txt')).toBe(false)
  await stage.telegram.press(group, messageId, 'Allow once', { from: { id: 1, name: 'Ann' } }).settled
  await expect.poll(() => ran('three.txt')).toBe(true)
})

test('a person without `approve` has no shell, as OpenCode runs some lines unasked', async () => {
  await stage.start()
  stage.telegram.say(2, '/new')
  stage.telegram.say(2, '[scenario:six]')
  await says(2, 'It is done.')
  expect(ran('six.txt')).toBe(false)
})

test('`trustPrompt` leaves the rules to the server', async () => {
  await stage.start({ server: { trustPrompt: true } })
  stage.telegram.say(2, '/new')
  stage.telegram.say(2, '[scenario:four]')
  await expect.poll(() => ran('four.txt')).toBe(true)
})

test("nothing is posted where the session's agent reaches the bridge's own files", async () => {
  await stage.start({ ownPaths: [join(stage.server.directory, 'own', 'reply.json')] })
  stage.telegram.say(1, '/new')
  stage.telegram.say(1, '[scenario:five]')
  await says(1, 'contains files of the bridge')
  expect(ran('five.txt')).toBe(false)
})

test('an agent that cannot be told to ask is for people with `approve` alone, and the log has the reason', async () => {
  const platform = await startPlatform('whatsapp')
  const agent = localAgent((run, words) => answer(run, `You said: ${words}.`))
  const chats = await startChats({ platforms: [platform], connectTo: agent.connectTo })
  await chats.start({ server: { trustPrompt: false } })
  platform.say('bob', 'from Bob')
  await expect.poll(() => platform.texts('bob').join()).toContain('the agent would run commands or edit files')
  platform.say('ann', 'from Ann')
  await expect.poll(() => platform.texts('ann').join()).toContain('You said: from Ann.')
  expect(agent.heard).toEqual(['from Ann'])
  expect(chats.errors.map(({ message }) => message)).toEqual([
    expect.stringMatching(/ was refused on home: an agent in the test can't be told to ask before it runs commands/),
  ])
  await chats.close()
})
