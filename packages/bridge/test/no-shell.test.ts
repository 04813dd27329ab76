import { readFile } from 'node:fs/promises'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

const require = createRequire(import.meta.url)
/** In every text, name and title of the chat. */
const mark = 'marked'
/** What was called with a text of the chat, or starts anything at all. */
const calls: string[] = []
const undos: (() => void)[] = []

/** Notes calls of all functions of a module of Node. */
function observe(name: string, isNoted: (given: string) => boolean): void {
  const module: Record<string, unknown> = require(name)
  for (const [key, call] of Object.entries(module)) {
    if (typeof call !== 'function' || /^[A-Z_]/.test(key)) continue
    module[key] = function (this: unknown, ...given: readonly unknown[]): unknown {
      const words = given
        .flat()
        .map((one) => (one instanceof URL || typeof one === 'string' ? String(one) : ''))
        .join(' ')
      if (isNoted(words)) calls.push(`${name}.${key} ${words}`)
      return Reflect.apply(call, this, given)
    }
    undos.push(() => {
      module[key] = call
    })
  }
}

let open: HandDriven

beforeAll(async () => {
  open = await startHandDriven((run, text) => answer(run, `You said: ${text.length}.`), {
    router: { maxFileBytes: 1000 },
    // The recogniser takes real time.
    transcribe: { command: ['cat', '{file}'], convert: false, timeoutMs: 43_200_000 },
  })
  for (const name of ['node:fs', 'node:fs/promises']) observe(name, (given) => given.includes(mark))
  observe('node:child_process', () => true)
  syncBuiltinESMExports()
})
afterAll(async () => {
  for (const undo of undos) undo()
  syncBuiltinESMExports()
  // What is still to be said waits for its time.
  let isClosed = false
  const closing = open.chats.close().then(() => {
    isClosed = true
  })
  await open.passes(() => isClosed)
  await closing
}, 20_000)

const commands = [
  ...['start', 'help', 'new', 'sessions', 'switch', 'current', 'status', 'logs', 'list', 'cancel', 'stop', 'interrupt'],
  ...[
    'queue',
    'queue drop',
    'queue edit 1',
    'edit',
    'steer',
    'fork',
    'undo',
    'compact',
    'model',
    'agent',
    'verbose',
    'init',
  ],
]
const words = [`$(touch ${mark})`, `../../${mark}`, `; cat /etc/${mark}`, `file:///${mark}`, `@/etc/${mark}`]

test('no text, title or file name of a chat starts a process, or names a file that is opened', async () => {
  const { telegram, said, heard, passes } = open
  await expect(readFile(`/nowhere/${mark}`)).rejects.toThrow('ENOENT')
  // What is looked for is seen.
  expect(calls.splice(0)).toEqual([`node:fs/promises.readFile /nowhere/${mark}`])
  const ann = { id: 1, name: `Ann ../../${mark}` }
  for (const said of words) {
    telegram.say(1, said, { from: ann })
    for (const command of commands) telegram.say(1, `/${command} ${said}`, { from: ann })
    telegram.say(1, `Read it ${said}`, { from: ann, file: { name: `../../${mark} ${said}`, bytes: Buffer.alloc(9) } })
  }
  const all = words.length * (commands.length + 2)
  telegram.say(1, 'the last', { from: ann })
  await passes(() => heard.includes('the last') && said(1).at(-1) === 'You said: 8.')
  expect(heard).toContain(words[0])
  expect(said(1).length).toBeGreaterThan(all / 2)
  expect(calls).toEqual([])
})

test('a voice note starts the program of the config alone, and neither its name nor its words reach the command line', async () => {
  const { telegram, heard, passes } = open
  for (const said of words) {
    const file = {
      kind: 'audio',
      name: `${said}.ogg`,
      mime: 'audio/ogg',
      bytes: Buffer.from(`${said} spoken`),
    } as const
    telegram.say(1, '', { from: { id: 1, name: `Ann ${said}` }, file })
  }
  const areHeard = (): boolean => words.every((said) => heard.includes(`${said} spoken`))
  // Each note takes real time, in which much time of the test passes.
  await expect.poll(async () => (await passes(areHeard)) >= 0 && areHeard()).toBe(true)
  const started = calls.splice(0).filter((call) => /child_process\.spawn /.test(call))
  expect(started).toHaveLength(3 * words.length)
  for (const call of started)
    expect(call).toMatch(
      /^node:child_process\.spawn (?:cat \S*\/reply-voice-\w+\/voice\.ogg|\/bin\/sh -c read -r .* sh (?:\d+|\S*\/reply-voice-\w+)) ?$/,
    )
  expect(started.join()).not.toContain(mark)
})
