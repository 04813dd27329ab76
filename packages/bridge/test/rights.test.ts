import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@reply/core'
import type { LocalRun } from '@reply/core/source'
import { createHandClock } from '@reply/testing'
import type { TelegramMessage } from '@reply/testing/telegram'
import { afterEach, describe, expect, test } from 'vitest'
import type { BridgeConfig } from '../src/config/schema.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer, touching } from './local-agent.ts'

const group = -100_500
const [ann, bob, cat] = [
  { id: 1, name: 'Ann' },
  { id: 2, name: 'Bob' },
  { id: 3, name: 'Cat' },
]
/** Ann may do all, Bob is an admin who may not approve, Cat may approve. */
const people: BridgeConfig['people'] = {
  ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'] },
  bob: { ids: ['telegram:2'], may: ['prompt', 'admin'] },
  cat: { ids: ['telegram:3'], may: ['approve'] },
}

let open: HandDriven
let held: LocalRun | undefined
/** What the agent was told. */
const answers: unknown[] = []
afterEach(async () => {
  await open.chats.close()
  held = undefined
  answers.length = 0
})

const colour = { header: 'Colour', question: 'Which colour?', options: [], multiple: false, custom: true }
const options = ['Red', 'Blue'].map((label) => ({ label, description: '' }))

function act(run: LocalRun, text: string): void {
  const reply = (given: unknown): void => {
    answers.push(given)
    // The run must not end before its ask does.
    setImmediate(() => answer(run, 'As you like.'))
  }
  if (text === 'slowly') held = run
  else if (text === 'write') {
    const input = { filePath: 'a.txt', content: 'one\n' }
    const state = { status: 'completed', input, output: '', metadata: { exists: false } } as const
    run.write({ type: 'tool', callID: 'call_1', tool: 'write', state })
    answer(run, 'Written.')
  } else if (text === 'colour')
    run.ask({ type: 'question', requestID: 'que_1', questions: [{ ...colour, options }], reply })
  else if (text === 'touch') {
    run.write(touching.call)
    run.ask({ ...touching.ask, always: [], reply })
  } else answer(run, `You said: ${text}.`)
}

async function start(more: Parameters<typeof startHandDriven>[1] = {}): Promise<void> {
  open = await startHandDriven(act, { groups: [group], people, ...more })
}

/** An agent with one command. */
const withCommand = (opencode: Client): Client => ({
  ...opencode,
  commands: async () => [{ name: 'deploy', template: 'Run $ARGUMENTS' }],
  command: ({ arguments: given, command: _, ...target }, more) =>
    opencode.prompt({ ...target, text: `ran ${given}` }, more),
})

const isSaid = (words: string, chat = group): boolean => open.said(chat).some((text) => text.includes(words))
const answered = async (words: string, chat = group): Promise<void> => {
  await open.passes(() => isSaid(words, chat))
  expect(open.said(chat).join('\n')).toContain(words)
}
const say = (from: typeof ann, text: string): number =>
  open.telegram.say(group, text.startsWith('/') ? text : `@fake_bot ${text}`, { from })
const withButton = (label: string, chat = group): TelegramMessage | undefined =>
  open.telegram.screen(chat).findLast(({ buttons }) => buttons.flat().some(({ text }) => text === label))

/** Presses a button, and resolves with what the person is told. */
async function press(
  from: typeof ann,
  label: string,
  on = withButton(label)?.messageId ?? 0,
  chat = group,
): Promise<string | undefined> {
  const data =
    withButton(label, chat)
      ?.buttons.flat()
      .find(({ text }) => text === label)?.data ?? ''
  const pressed = open.telegram.press(chat, on, data, { from, isForged: true })
  await open.passes(() => pressed.status !== 'waiting')
  return pressed.text
}

describe('a press', () => {
  test('on another message of the bot is refused, and its spinner stops', async () => {
    await start()
    say(ann, 'hello')
    await answered('You said: hello.')
    const other = open.telegram.screen(group).findLast(({ text }) => text === 'You said: hello.')
    say(ann, 'touch')
    await open.passes(() => withButton('Allow once') !== undefined)
    const refused = 'This button only works on the original message. Answer there, or on its newest copy.'
    expect(await press(ann, 'Allow once', other?.messageId)).toBe(refused)
    expect(answers).toEqual([])
    expect(await press(ann, 'Allow once')).toBe('✅ once')
    await answered('As you like.')
    expect(answers).toEqual([{ type: 'once' }])
  })

  test("of the bridge's own button counts from a message that has it alone", async () => {
    await start()
    say(ann, 'hello')
    await answered('You said: hello.')
    say(ann, '/sessions')
    await answered('Sessions:')
    const other = open.telegram.screen(group).findLast(({ text }) => text === 'You said: hello.')
    expect(await press(ann, '1', other?.messageId)).toBe('That button no longer works.')
    for (const forged of ['b/page/2', 'b/drop', 'b/run/1', 'b/switch/ses_1x']) {
      const { messageId = 0 } = withButton('1') ?? {}
      const pressed = open.telegram.press(group, messageId, forged, { from: ann, isForged: true })
      await open.passes(() => pressed.status !== 'waiting')
      expect(pressed.text).toBe('That button no longer works.')
    }
    expect(isSaid('continues')).toBe(false)
    await press(ann, '1')
    await answered('This chat now continues')
    // Its buttons are gone with that.
    expect(
      await press(ann, '1', open.telegram.screen(group).findLast(({ text }) => /continues/.test(text))?.messageId),
    ).toBe('That button no longer works.')
  })
})

test('the diff of a session is for people who may prompt, and for admins, in the chat of the session alone', async () => {
  await start()
  say(ann, 'write')
  await open.passes(() => withButton('Diff') !== undefined)
  const documents = (chat = group): readonly string[] =>
    open.telegram.screen(chat).flatMap(({ document }) => (document ? [new TextDecoder().decode(document.bytes)] : []))
  expect(await press(cat, 'Diff')).toContain('it requires the right')
  say(cat, '/diff')
  await answered('it requires the right')
  expect(documents()).toEqual([])
  await press(bob, 'Diff')
  await open.passes(() => documents().length === 1)
  expect(documents()[0]).toContain('+++ b/a.txt\n@@ -0,0 +1,1 @@\n+one\n')
  // A forged press on a message of another person's chat finds no session.
  const own = open.telegram.say(ann.id, '/help', { from: ann })
  const pressed = open.telegram.press(ann.id, own, 'b/diff', { from: ann, isForged: true })
  await open.passes(() => pressed.status !== 'waiting')
  expect(pressed.text).toBe('That button no longer works.')
  expect(documents(ann.id)).toEqual([])
})

test('the state has no token of any button that was on a screen', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reply-tokens-'))
  try {
    const clock = createHandClock()
    const store = await sqliteStore({ folder: join(folder, 'state'), clock })
    await start({ clock, storeOf: () => store })
    const tokens = new Set<string>()
    const stop = open.telegram.observe(() => {
      for (const { data } of open.telegram.screen(group).flatMap(({ buttons }) => buttons.flat()))
        if (data) tokens.add(data)
    })
    say(ann, 'colour')
    await open.passes(() => withButton('Red') !== undefined)
    await press(ann, 'Red')
    await answered('As you like.')
    say(ann, 'touch')
    await open.passes(() => withButton('Allow once') !== undefined)
    say(ann, '/sessions')
    await answered('Sessions:')
    await press(ann, 'Allow once')
    await open.passes(() => answers.length === 2)
    await open.passes(() => isSaid('✅ Allow once'))
    stop()
    expect([...tokens].filter((token) => token.startsWith('r~')).length).toBeGreaterThanOrEqual(4)
    expect([...tokens].some((token) => token.startsWith('b/switch/'))).toBe(true)
    const bytes = (at: string): string =>
      readdirSync(at, { withFileTypes: true })
        .map((entry) =>
          entry.isDirectory() ? bytes(join(at, entry.name)) : readFileSync(join(at, entry.name), 'latin1'),
        )
        .join('')
    const stored = bytes(folder)
    expect(stored).toContain('per_1')
    for (const token of tokens) {
      expect(stored).not.toContain(token)
      if (token.startsWith('r~')) expect(stored).not.toContain(token.split('.')[0])
    }
    await open.chats.stop()
    expect(existsSync(folder)).toBe(true)
    const atRest = bytes(folder)
    for (const token of tokens) expect(atRest).not.toContain(token)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('a person who is removed', () => {
  test('loses presses and typed answers to what is on the screen, and others with the right go on', async () => {
    await start()
    say(ann, 'touch')
    await open.passes(() => withButton('Allow once') !== undefined)
    open.chats.setPeople({ bob: people.bob ?? expect.fail(), cat: people.cat ?? expect.fail() })
    expect(await press(ann, 'Allow once')).toMatch(/^You are not on the list of this bridge/)
    open.telegram.say(group, 'yes', { from: ann, replyTo: withButton('Allow once')?.messageId ?? 0 })
    await answered('You are not on the list')
    expect(await press(bob, 'Allow once')).toBe(
      'You can’t answer this: it requires the right `approve`. The bridge’s operator can add it to your rights.',
    )
    expect(answers).toEqual([])
    expect(await press(cat, 'Allow once')).toBe('✅ once')
    await answered('As you like.')
  })

  test('while a typed answer is written down has it not passed on', async () => {
    await start({
      storeOf: (store) => ({
        ...store,
        commit: async (writes, ...more) => {
          const committed = await store.commit(writes, ...more)
          if (JSON.stringify(writes).includes('isAnswer')) open.chats.setPeople({ cat: people.cat ?? expect.fail() })
          return committed
        },
      }),
    })
    say(ann, 'touch')
    await open.passes(() => withButton('Allow once') !== undefined)
    open.telegram.say(group, 'yes', { from: ann, replyTo: withButton('Allow once')?.messageId ?? 0 })
    await answered('You can’t do that: it requires the right')
    expect(answers).toEqual([])
    expect(await press(cat, 'Allow once')).toBe('✅ once')
    await answered('As you like.')
  })

  test('loses the buttons of the bridge, and what waits is not run', async () => {
    await start()
    say(bob, 'slowly')
    await open.passes(() => held !== undefined)
    say(ann, 'hello')
    await answered('Queued, number 1.')
    say(ann, '/sessions')
    await answered('Sessions:')
    open.chats.setPeople({ bob: people.bob ?? expect.fail() })
    expect(await press(ann, '1')).toMatch(/^You are not on the list of this bridge/)
    if (held) answer(held, 'Done.')
    await answered('Not run: someone who wrote or edited this no longer has the right prompt.')
    expect(open.heard).toEqual(['slowly'])
  })

  test('leaves a run that goes on, which they can no longer answer, stop or steer, and an admin can', async () => {
    await start()
    say(ann, 'slowly')
    await open.passes(() => held !== undefined)
    open.chats.setPeople({ bob: people.bob ?? expect.fail() })
    for (const text of ['/stop', '/steer left']) say(ann, text)
    await answered('You are not on the list')
    expect(isSaid('Stopped.')).toBe(false)
    say(bob, '/stop')
    await answered('Stopped.')
  })

  test('after their prompt was taken from the queue has it not posted', async () => {
    let isTaken = false
    await start({
      storeOf: (store) => ({
        ...store,
        commit: async (writes, lease, more) => {
          const committed = await store.commit(writes, lease, more)
          if (
            writes.some(({ type }) => type === 'dequeue') &&
            writes.some((write) => 'key' in write && write.key.startsWith('execution/'))
          ) {
            isTaken = true
            open.chats.setPeople({ bob: people.bob ?? expect.fail() })
          }
          return committed
        },
      }),
    })
    say(ann, 'hello')
    await answered('Not run: someone who wrote or edited this no longer has the right prompt.')
    expect([isTaken, open.heard]).toEqual([true, []])
  })
})

test('`approve` is enough to choose the session of a chat, by commands and by their buttons, but not to prompt', async () => {
  await start()
  say(ann, 'hello')
  await answered('You said: hello.')
  say(cat, '/sessions')
  await answered('1. ')
  say(cat, '/current')
  await answered('Session:')
  await press(cat, '1')
  await answered('now continues')
  say(cat, '/switch 1')
  await open.passes(() => open.said(group).filter((text) => text.includes('now continues')).length === 2)
  say(cat, '/new')
  await answered('starts a new session')
  say(cat, 'hello')
  await answered('it requires the right `prompt`')
  expect(open.heard).toEqual(['hello'])
})

test('a person who is added may act at once, and one who gets a right may use it on what is on the screen', async () => {
  await start({ people: { bob: people.bob } })
  say(ann, 'hello')
  await answered('You are not on the list')
  open.chats.setPeople({ ...people, ann: { ids: ['telegram:1'], may: ['prompt'] } })
  say(ann, 'touch')
  await open.passes(() => withButton('Allow once') !== undefined)
  expect(await press(ann, 'Allow once')).toBe(
    'You can’t answer this: it requires the right `approve`. The bridge’s operator can add it to your rights.',
  )
  open.chats.setPeople(people)
  expect(await press(ann, 'Allow once')).toBe('✅ once')
  await answered('As you like.')
})

test('a list that the config could not have is refused, and the one before stays', async () => {
  await start()
  expect(() => open.chats.setPeople({ eve: { ids: ['none:1'], may: ['prompt'] } })).toThrow(/names an unknown channel/)
  say(ann, 'hello')
  await answered('You said: hello.')
})

describe('an entry that another person edited', () => {
  async function edited(): Promise<void> {
    say(ann, 'slowly')
    await open.passes(() => held !== undefined)
    say(ann, 'hello')
    await answered('Queued, number 1.')
    say(bob, '/queue edit 1 other words')
    await answered('Changed number 1.')
  }

  test('runs while both may prompt', async () => {
    await start()
    await edited()
    say(ann, '/queue')
    await answered('1. other words · Ann, Bob')
    if (held) answer(held, 'Done.')
    await answered('You said: other words.')
  })

  test.each([
    ['its author', 'ann'],
    ['its editor', 'bob'],
  ])('does not run if %s may no longer prompt', async (_, name) => {
    await start()
    await edited()
    open.chats.setPeople({ ...people, [name]: { ids: people[name]?.ids ?? [], may: ['approve'] } })
    if (held) answer(held, 'Done.')
    await answered('Not run: someone who wrote or edited this no longer has the right prompt.')
    expect(open.heard).toEqual(['slowly'])
  })

  test.each([
    ['may not approve', ['prompt', 'admin'], 'Nothing was run: with these arguments, the command could run'],
    ['may approve, too', ['prompt', 'admin', 'approve'], 'You said: ran !rm -r x.'],
  ] as const)(
    'that is a command which would run without asking requires the right of an editor: %s',
    async (_, may, said) => {
      await start({ changed: withCommand, people: { ...people, bob: { ids: ['telegram:2'], may } } })
      say(ann, 'slowly')
      await open.passes(() => held !== undefined)
      say(ann, '/deploy@fake_bot now')
      await answered('Queued, number 1.')
      say(bob, '/queue edit 1 /deploy !`rm -r x`')
      await answered('Changed number 1.')
      if (held) answer(held, 'Done.')
      await answered(said)
    },
  )
})

test('what waited is judged by the rights when it runs, also after a restart', async () => {
  await start()
  say(ann, 'slowly')
  await open.passes(() => held !== undefined)
  say(ann, 'hello')
  await answered('Queued, number 1.')
  say(bob, '/queue edit 1 other words')
  await answered('Changed number 1.')
  await open.chats.stop()
  await open.chats.start({ clock: open.clock, people: { ...people, bob: { ids: ['telegram:2'], may: ['admin'] } } })
  await answered('Not run: someone who wrote or edited this no longer has the right prompt.')
  expect(open.heard).not.toContain('other words')
})

test('a run of a person with approve takes no words of one without it, even after the first has left the list', async () => {
  await start()
  say(ann, 'slowly')
  await open.passes(() => held !== undefined)
  open.chats.setPeople({ bob: people.bob ?? expect.fail() })
  say(bob, '/steer left')
  await answered('Queued, number 1.')
  expect(open.heard).toEqual(['slowly'])
})

test('a run of people with approve takes no words of one without it: they wait their turn', async () => {
  await start({ router: { busy: 'steer' } })
  say(ann, 'slowly')
  await open.passes(() => held !== undefined)
  say(bob, '/steer left')
  await answered('Queued, number 1.')
  say(bob, 'right')
  await answered('Queued, number 2.')
  expect(open.heard).toEqual(['slowly'])
  say(ann, '/steer straight on')
  // Ann's own words wait as well, as others are before them.
  await answered('Queued, number 3.')
  if (held) answer(held, 'Done.')
  await answered('You said: straight on.')
  expect(open.heard).toEqual(['slowly', 'left', 'right', 'straight on'])
})
